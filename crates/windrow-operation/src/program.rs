//! A prepared operation: pages its targets, and walks one of them to its goal. Before every
//! call the target is looked at and the intent is on record; after every call it is looked at again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::{Spec, invalid_request, prepare_blocking};
use windrow_model::priority::Priority;
use windrow_model::retry::{Backoff, RetryPolicy};
use windrow_model::step::{ContentKey, OnUnknown, StepIntent, StepResult, Usage};
use windrow_model::store::NewItem;
use windrow_model::workload::{Done, Halt, Journal, Program, RunsOn, SourcePage, StepNo, WorkItem};
use windrow_model::{Failure, Json};

use super::change_record::{self, ChangeRecord};
use super::handler::{Call, ChangeContext, Handler, Next, PastCall, Trouble, Way};
use super::image::differences;
use super::registry;
use super::scripted::Probe;
use super::spec::{CAPABILITY, KIND, OperationSpec, Targets};
use super::target::Target;
use super::target_source::TargetSource;

/// How soon a target is looked at again, at first and at most.
const LOOK: Backoff = Backoff { first_ms: 50, max_ms: 1_000 };
/// How often a look is taken that fails in passing.
const LOOKS: usize = 5;
/// A call nobody has answered may still take effect within this time.
const UNKNOWN_WINDOW: Duration = Duration::from_secs(1);

pub struct Operation {
    targets: TargetSource,
    handler: Arc<dyn Handler>,
    health: Option<Probe>,
    retry: RetryPolicy,
    timeout_ms: i64,
    runs_on: RunsOn,
    force: bool,
}

impl Operation {
    pub async fn thaw(
        spec: &Json,
        environment: Environment,
        list: impl FnOnce(Targets) -> TargetSource,
    ) -> Result<Self, Failure> {
        let spec = OperationSpec::thaw(spec)?;
        let targets = list(spec.targets.clone());
        prepare_blocking(move || Self::prepare(spec, targets, &environment)).await
    }

    fn prepare(spec: OperationSpec, targets: TargetSource, environment: &Environment) -> Result<Self, Failure> {
        let health = spec.health.map(|health| Probe::new(health, environment)).transpose()?;
        let handler = registry::build(&spec.action, environment)?;
        let OperationSpec { retry, timeout_ms, force, worker, .. } = spec;
        let runs_on = match worker {
            Some(worker) => RunsOn::Elsewhere { needs: vec![CAPABILITY.to_owned(), worker] },
            None => RunsOn::Here,
        };
        Ok(Self { targets, handler, health, retry, timeout_ms, runs_on, force })
    }

    pub fn handler(&self) -> &dyn Handler {
        &*self.handler
    }

    async fn apply(&self, target: &Target, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let last = change_record::change_records(journal.history()).pop();
        let mut change = match last {
            // The proof is on record, and only the hand-in was lost.
            Some(ChangeRecord { reached: Some((_, attempt)), .. }) if attempt >= item.first_try => {
                return Ok(Done::default());
            }
            // Its pre-image stands, also half way back; the goal may be another one by now.
            Some(mut change) if change.is_open() => {
                change.restart();
                ChangeRecord { after: self.handler.after(target, &change.before)?, ..change }
            }
            _ => match self.begin(target, journal).await? {
                Some(change) => change,
                None => return Ok(Done { skipped: true, ..Done::default() }),
            },
        };
        let image = self.converge(Way::Apply, target, &mut change, journal).await?;
        note(journal, target, change_record::VERIFY, json!({}), image);
        Ok(Done::default())
    }

    /// A first look: `None` where it is done already.
    async fn begin(&self, target: &Target, journal: &dyn Journal) -> Result<Option<ChangeRecord>, Halt> {
        let before = self.look(target).await?;
        let image = self.handler.normalize(before.clone().unwrap_or_default());
        let after = self.handler.after(target, &image)?;
        let change = ChangeRecord { before: image, after, ..ChangeRecord::default() };
        let done = before.is_some() && self.next(Way::Apply, target, &change, before.as_ref())? == Next::Reached;
        note(journal, target, change_record::VALIDATE, json!({}), json!({ "done": done, "before": change.before }));
        if done {
            return Ok(None);
        }
        self.validate(target, &change).await?;
        note(
            journal,
            target,
            change_record::CAPTURE,
            json!({}),
            json!({ "before": change.before, "after": change.after }),
        );
        Ok(Some(change))
    }

    async fn undo(&self, target: &Target, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let mut change_records = change_record::change_records(journal.history());
        if change_records.last().and_then(|change| change.restored).is_some_and(|attempt| attempt >= item.first_try) {
            return Ok(Done::default());
        }
        let Some(mut change) = change_records.drain(..).rev().find(ChangeRecord::may_have_changed) else {
            return Ok(Done { skipped: true, ..Done::default() });
        };
        if let Some(why) = self.handler.irreversible() {
            return Err(invalid_request(why).into());
        }
        if !self.force && !change.turned {
            self.check_unchanged(target, &change).await?;
        }
        let image = self.converge(Way::Undo, target, &mut change, journal).await?;
        note(journal, target, change_record::RESTORE, json!({}), image);
        Ok(Done::default())
    }

    /// Whoever changed the target after us would lose that change.
    async fn check_unchanged(&self, target: &Target, change: &ChangeRecord) -> Result<(), Failure> {
        let (Some((reached, _)), Some(now)) = (&change.reached, self.look(target).await?) else { return Ok(()) };
        let print = |image: &Value| self.handler.fingerprint(&self.handler.normalize(image.clone()));
        if print(&now) == print(reached) || print(&now) == print(&change.before) {
            return Ok(());
        }
        let changes = differences(&print(reached), &print(&now)).join("; ");
        Err(invalid_request(format!("it has changed since ({changes}); roll it back with --force to lose that change")))
    }

    /// Looking does no harm, so a look that fails in passing is taken again.
    async fn look(&self, target: &Target) -> Result<Option<Value>, Failure> {
        let mut pause = Look::default();
        for _ in 1..LOOKS {
            match self.handler.read(target).await {
                Err(failure) if failure.class.is_transient() => pause.wait().await,
                read => return read,
            }
        }
        self.handler.read(target).await
    }

    async fn validate(&self, target: &Target, change: &ChangeRecord) -> Result<(), Failure> {
        let mut pause = Look::default();
        for _ in 1..LOOKS {
            match self.handler.validate(target, &change.after).await {
                Err(failure) if failure.class.is_transient() => pause.wait().await,
                validated => return validated,
            }
        }
        self.handler.validate(target, &change.after).await
    }

    fn next(&self, way: Way, target: &Target, change: &ChangeRecord, now: Option<&Value>) -> Result<Next, Failure> {
        let ChangeRecord { before, after, refined, .. } = change;
        self.handler.next(&ChangeContext {
            target,
            way,
            before,
            after,
            now,
            past_calls: change.past_calls(way),
            refined: *refined,
        })
    }

    /// Calls until the goal is reached, and returns what the target looks like then.
    async fn converge(
        &self,
        way: Way,
        target: &Target,
        change: &mut ChangeRecord,
        journal: &dyn Journal,
    ) -> Result<Value, Halt> {
        let mut look = Look::default();
        let mut acknowledged: Vec<Call> = Vec::new();
        // What an earlier process has left open may still be on its way.
        let mut unknown = change
            .past_calls(way)
            .last()
            .filter(|made| !made.answered)
            .map(|_| UnknownOutcome { since: Instant::now(), open: None });
        let mut reached_at: Option<Instant> = None;
        loop {
            let now = self.look(target).await?;
            let next = self.next(way, target, change, now.as_ref())?;
            if next != Next::Reached {
                reached_at = None;
            }
            match next {
                Next::Reached => {
                    resolve(&mut unknown, journal, true);
                    let since = *reached_at.get_or_insert_with(Instant::now);
                    if since.elapsed() >= Duration::from_millis(self.handler.steady_ms().max(0) as u64) {
                        return Ok(self.handler.normalize(now.unwrap_or_default()));
                    }
                    look.wait().await;
                }
                Next::Wait(_) => look.wait().await,
                Next::RefinePreimage => {
                    let now = now.unwrap_or_default();
                    change.before = self.handler.refine_preimage(&change.before, &now);
                    change.refined = true;
                    note(
                        journal,
                        target,
                        change_record::CAPTURE,
                        json!({}),
                        json!({ "before": change.before, "after": change.after }),
                    );
                }
                Next::Call(call) if acknowledged.contains(&call) => look.wait().await,
                Next::Call(call) => {
                    let early = unknown
                        .as_ref()
                        .is_some_and(|unknown| now.is_some() && unknown.since.elapsed() < UNKNOWN_WINDOW);
                    if early {
                        look.wait().await;
                        continue;
                    }
                    let happened = unknown
                        .as_ref()
                        .is_some_and(|unknown| unknown.open.as_ref().is_some_and(|open| open.call != call));
                    resolve(&mut unknown, journal, happened);
                    look = Look::default();
                    let key = ContentKey::of(&[
                        &target.key().0,
                        way.as_str().as_bytes(),
                        call.name.as_bytes(),
                        call.input.to_string().as_bytes(),
                    ]);
                    let no = journal.begin(intent(key, way.as_str(), &call)).await?;
                    match self.handler.call(target, &call, &key).await {
                        Ok(output) => {
                            journal.finish(no, done(&output));
                            change.add_call(way, PastCall { name: call.name.clone(), answered: true });
                            acknowledged.push(call);
                        }
                        Err(Trouble::Busy(failure)) => {
                            journal.finish(no, StepResult::Failed { failure });
                            look.wait().await;
                        }
                        Err(Trouble::Unknown(failure)) => {
                            change.add_call(way, PastCall { name: call.name.clone(), answered: false });
                            unknown =
                                Some(UnknownOutcome { since: Instant::now(), open: Some(Open { no, call, failure }) });
                        }
                        Err(Trouble::Failed(failure)) => {
                            journal.finish(no, StepResult::Failed { failure: failure.clone() });
                            return Err(failure.into());
                        }
                    }
                }
            }
        }
    }
}

/// A call that may or may not have happened.
struct UnknownOutcome {
    since: Instant,
    /// Where it was made by this attempt, which can still say what came of it.
    open: Option<Open>,
}

struct Open {
    no: StepNo,
    call: Call,
    failure: Failure,
}

/// The target was read back: the record says what became of the call.
fn resolve(unknown: &mut Option<UnknownOutcome>, journal: &dyn Journal, happened: bool) {
    let Some(UnknownOutcome { open: Some(Open { no, failure, .. }), .. }) = unknown.take() else { return };
    let result = match happened {
        true => done(&json!({ "read_back": true, "answer": failure.to_string() })),
        false => StepResult::Failed { failure },
    };
    journal.finish(no, result);
}

/// Ever longer pauses between two looks.
#[derive(Default)]
struct Look(u32);

impl Look {
    async fn wait(&mut self) {
        tokio::time::sleep(LOOK.after(self.0)).await;
        self.0 += 1;
    }
}

fn intent(key: ContentKey, kind: &'static str, call: &Call) -> StepIntent {
    StepIntent {
        key,
        kind: kind.into(),
        name: call.name.clone(),
        turn: 0,
        input: Json::of(&call.input),
        on_unknown: OnUnknown::Verify,
        shared: false,
    }
}

fn done(output: &Value) -> StepResult {
    StepResult::Done { output: Json::of(output), usage: Usage::default() }
}

/// A look at the target, on record before whatever is called next.
fn note(journal: &dyn Journal, target: &Target, kind: &'static str, input: Value, output: Value) {
    let key = ContentKey::of(&[&target.key().0, kind.as_bytes()]);
    let intent = intent(key, kind, &Call { name: String::new(), input });
    journal.whole(intent, done(&output), 0);
}

#[async_trait]
impl Program for Operation {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let from: usize = match cursor {
            None => 0,
            Some(cursor) => {
                cursor.parse().map_err(|error| invalid_request(format!("the planning cursor is bad: {error}")))?
            }
        };
        let (targets, done) = self.targets.page(from, limit).await?;
        let to = from + targets.len();
        let item = |target: Target| NewItem {
            key: target.key(),
            input: Json::of(&target),
            priority: Priority::NORMAL,
            resource: Some(self.handler.lock(&target)),
            not_before: None,
            group: None,
        };
        Ok(SourcePage { items: targets.into_iter().map(item).collect(), cursor: Some(Json::of(&to)), done })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let target: Target =
            item.input.parse().map_err(|error| invalid_request(format!("the target is unreadable: {error}")))?;
        let started = Instant::now();
        let done = match item.rollback {
            false => self.apply(&target, item, journal).await?,
            true => self.undo(&target, item, journal).await?,
        };
        Ok(Done { latency_ms: started.elapsed().as_millis() as i64, ..done })
    }

    async fn check_health(&self, _wave: i64) -> Result<(), Failure> {
        match &self.health {
            Some(probe) => probe.check().await,
            None => Ok(()),
        }
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.retry
    }

    fn timeout_ms(&self) -> i64 {
        self.timeout_ms
    }

    fn kind(&self) -> &'static str {
        KIND
    }

    fn runs_on(&self) -> RunsOn {
        self.runs_on.clone()
    }
}

#[cfg(test)]
mod tests;
