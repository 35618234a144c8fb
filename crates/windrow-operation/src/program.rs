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
use super::mask;
use super::own_worker;
use super::registry;
use super::scripted::Probe;
use super::spec::{CAPABILITY, KIND, OperationSpec, Targets};
use super::target::Target;
use super::target_source::TargetSource;
use super::veil::{self, Veil};
use super::web::unreachable;

/// How soon a target is looked at again, at first and at most.
const LOOK: Backoff = Backoff { first_ms: 50, max_ms: 1_000 };
/// How often a look is taken that fails in passing.
const LOOKS: usize = 5;
/// Pauses between two tries of an endpoint that cannot be reached.
const UNREACHABLE: Backoff = Backoff { first_ms: 250, max_ms: 10_000 };
/// A call nobody has answered may still take effect within this time.
const UNKNOWN_WINDOW: Duration = Duration::from_secs(1);

pub struct Operation {
    targets: TargetSource,
    handler: Arc<dyn Handler>,
    health: Option<Probe>,
    veil: Veil,
    retry: RetryPolicy,
    timeout_ms: i64,
    /// How long an endpoint that cannot be reached is waited for.
    unreachable_for: Duration,
    runs_on: RunsOn,
    irreversible: Option<&'static str>,
    /// The hash of the definition: a rollback takes back what this one changed.
    definition: String,
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
        let (_, definition) = OperationSpec { force: false, ..spec.clone() }.freeze();
        let health = spec.health.map(|health| Probe::new(health, environment)).transpose()?;
        let irreversible = registry::irreversible(&spec.action);
        let handler = registry::build(&spec.action, environment)?;
        let unreachable_for = Duration::from_millis(spec.unreachable_for_ms.max(0) as u64);
        let OperationSpec { retry, timeout_ms, force, worker, action, .. } = spec;
        let runs_on = match worker {
            Some(worker) if action.kind == own_worker::KIND => RunsOn::Elsewhere { needs: vec![worker] },
            Some(worker) => RunsOn::Elsewhere { needs: vec![CAPABILITY.to_owned(), worker] },
            None => RunsOn::Here,
        };
        let veil = Veil::new(environment.clone());
        Ok(Self {
            targets,
            handler,
            health,
            veil,
            retry,
            timeout_ms,
            unreachable_for,
            runs_on,
            irreversible,
            definition,
            force,
        })
    }

    pub fn handler(&self) -> &dyn Handler {
        &*self.handler
    }

    async fn apply(&self, target: &Target, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let mut records = change_record::change_records(journal.history());
        let void = records.pop_if(|change| change.is_void()).is_some();
        let last = self.opened(records.pop()).await?;
        let mut change = match last {
            // The proof is on record, and only the hand-in was lost.
            Some(ChangeRecord { reached: Some((_, attempt)), .. }) if attempt >= item.first_try => {
                return Ok(Done::default());
            }
            // Its pre-image stands, also half way back. A change of another definition is left as it is.
            Some(mut change) if change.goes_on(Some(&self.definition)) => {
                change.restart();
                let change = ChangeRecord { after: self.handler.after(target, &change.before)?, ..change };
                if void {
                    self.capture(journal, target, &change).await?;
                }
                change
            }
            _ => match self.begin(target, journal).await? {
                Some(change) => change,
                None => return Ok(Done { skipped: true, ..Done::default() }),
            },
        };
        let image = self.converge(Way::Apply, target, &mut change, journal).await?;
        self.note(journal, target, change_record::VERIFY, image).await?;
        Ok(Done::default())
    }

    /// A look at the target, on record before whatever is called next.
    async fn note(
        &self,
        journal: &dyn Journal,
        target: &Target,
        kind: &'static str,
        output: Value,
    ) -> Result<(), Failure> {
        let secrets = veil::secrets(self.handler(), [&output]);
        let output = self.veil.seal(&output, self.handler(), &secrets).await?;
        let key = ContentKey::of(&[&target.key().0, kind.as_bytes()]);
        let call = Call { name: String::new(), input: json!({}) };
        journal.whole(intent(key, kind, &call), done(&output), 0);
        Ok(())
    }

    async fn capture(&self, journal: &dyn Journal, target: &Target, change: &ChangeRecord) -> Result<(), Failure> {
        let ChangeRecord { before, after, .. } = change;
        let captured = json!({ "target": target, "before": before, "after": after, "definition": self.definition });
        self.note(journal, target, change_record::CAPTURE, captured).await
    }

    /// A record as it was before it was sealed.
    async fn opened(&self, change: Option<ChangeRecord>) -> Result<Option<ChangeRecord>, Failure> {
        let Some(mut change) = change else { return Ok(None) };
        change.before = self.veil.open(change.before).await?;
        change.after = self.veil.open(change.after).await?;
        if let Some((image, attempt)) = change.reached.take() {
            change.reached = Some((self.veil.open(image).await?, attempt));
        }
        Ok(Some(change))
    }

    /// A first look: `None` where it is done already.
    async fn begin(&self, target: &Target, journal: &dyn Journal) -> Result<Option<ChangeRecord>, Halt> {
        let before = self.look(target, journal).await?;
        let image = self.handler.normalize(before.clone().unwrap_or_default());
        let after = self.handler.after(target, &image)?;
        let change = ChangeRecord { before: image, after, ..ChangeRecord::default() };
        let done = before.is_some() && self.next(Way::Apply, target, &change, before.as_ref())? == Next::Reached;
        let validated = json!({ "done": done, "before": change.before });
        self.note(journal, target, change_record::VALIDATE, validated).await?;
        if done {
            return Ok(None);
        }
        self.validate(target, &change, journal).await?;
        self.capture(journal, target, &change).await?;
        Ok(Some(change))
    }

    async fn undo(&self, target: &Target, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let mut change_records = change_record::change_records(journal.history());
        if change_records.iter().any(|change| change.restored.is_some_and(|attempt| attempt >= item.first_try)) {
            return Ok(Done::default());
        }
        // What another definition has changed is not this one's to take back.
        let last = change_records.drain(..).rev().find(ChangeRecord::may_have_changed);
        let last = last.filter(|change| change.is_of(Some(&self.definition)));
        let Some(mut change) = self.opened(last).await? else {
            return Ok(Done { skipped: true, ..Done::default() });
        };
        let recorded = change.target.take();
        let target = recorded.as_ref().unwrap_or(target);
        if let Some(why) = self.irreversible {
            return Err(invalid_request(format!("{why}, so it cannot be rolled back")).into());
        }
        if !self.force && !change.turned {
            self.check_unchanged(target, &change, journal).await?;
        }
        let image = self.converge(Way::Undo, target, &mut change, journal).await?;
        self.note(journal, target, change_record::RESTORE, image).await?;
        Ok(Done::default())
    }

    /// Whoever changed the target after us would lose that change.
    async fn check_unchanged(&self, target: &Target, change: &ChangeRecord, journal: &dyn Journal) -> Result<(), Halt> {
        let (Some((reached, _)), Some(now)) = (&change.reached, self.look(target, journal).await?) else {
            return Ok(());
        };
        let print = |image: &Value| self.handler.fingerprint(&self.handler.normalize(image.clone()));
        if print(&now) == print(reached) || print(&now) == print(&change.before) {
            return Ok(());
        }
        let image = self.handler.normalize(now.clone());
        let (reached, now) = (print(reached), print(&now));
        let secrets = veil::secrets(self.handler(), [&reached, &now]);
        let mut seen = Vec::new();
        for image in [&reached, &now] {
            seen.push(self.veil.seal(image, self.handler(), &secrets).await?);
        }
        self.note(journal, target, change_record::CONFLICT, image).await?;
        let changes = differences(&seen[0], &seen[1]).join("; ");
        let message = format!("conflict: changed after the operation ({changes}); use --force to overwrite it");
        Err(invalid_request(message).into())
    }

    /// Looking does no harm, so a look that fails in passing is taken again.
    async fn look(&self, target: &Target, journal: &dyn Journal) -> Result<Option<Value>, Halt> {
        let mut patience = Patience::new(self.unreachable_for);
        loop {
            match self.handler.read(target).await {
                Ok(image) => return Ok(image),
                Err(failure) => patience.bear(failure, journal).await?,
            }
        }
    }

    async fn validate(&self, target: &Target, change: &ChangeRecord, journal: &dyn Journal) -> Result<(), Halt> {
        let mut patience = Patience::new(self.unreachable_for);
        loop {
            match self.handler.validate(target, &change.after).await {
                Ok(()) => return Ok(()),
                Err(failure) => {
                    let secrets = veil::secrets(self.handler(), [&change.before, &change.after]);
                    patience.bear(mask::redacted(failure, &secrets), journal).await?;
                }
            }
        }
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
            calls: &change.calls,
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
        let (mut look, mut patience) = (Look::default(), Patience::new(self.unreachable_for));
        let mut acknowledged: Vec<Call> = Vec::new();
        // What an earlier process has left open may still be on its way.
        let mut unknown = change
            .past_calls(way)
            .last()
            .filter(|made| !made.answered)
            .map(|_| UnknownOutcome { since: Instant::now(), open: None });
        let mut reached_at: Option<Instant> = None;
        loop {
            let now = self.look(target, journal).await?;
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
                    self.capture(journal, target, change).await?;
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
                    let images = [&change.before, &change.after, now.as_ref().unwrap_or(&Value::Null)];
                    let secrets = veil::secrets(self.handler(), images);
                    let input = self.veil.seal(&call.input, self.handler(), &secrets).await?;
                    let recorded = Call { name: call.name.clone(), input };
                    let no = journal.begin(intent(key, way.as_str(), &recorded)).await?;
                    let answer = self.handler.call(target, &call, &key).await;
                    match answer.map_err(|trouble| trouble.map(|failure| mask::redacted(failure, &secrets))) {
                        Ok(output) => {
                            let output = self.veil.seal(&output, self.handler(), &secrets).await?;
                            journal.finish(no, done(&output));
                            change.add_call(way, PastCall { name: call.name.clone(), answered: true });
                            acknowledged.push(call);
                            patience = Patience::new(self.unreachable_for);
                        }
                        Err(Trouble::Busy(failure)) => {
                            journal.finish(no, StepResult::Failed { failure });
                            look.wait().await;
                        }
                        Err(Trouble::Unreachable(failure)) => {
                            journal.finish(no, StepResult::Failed { failure: failure.clone() });
                            patience.bear(failure, journal).await?;
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

/// An endpoint that cannot be reached is no fault of a target: it is waited for, and that is not counted.
struct Patience {
    most: Duration,
    away_since: Option<Instant>,
    waited: u32,
    failed: usize,
    look: Look,
}

impl Patience {
    fn new(most: Duration) -> Self {
        Self { most, away_since: None, waited: 0, failed: 0, look: Look::default() }
    }

    /// Returns when it is worth another try.
    async fn bear(&mut self, failure: Failure, journal: &dyn Journal) -> Result<(), Halt> {
        let Some(endpoint) = unreachable(&failure) else {
            self.failed += 1;
            if !failure.class.is_transient() || self.failed >= LOOKS {
                return Err(failure.into());
            }
            self.look.wait().await;
            return Ok(());
        };
        let since = *self.away_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.most {
            let message = format!("{} (for {} s)", failure.message, self.most.as_secs());
            return Err(Failure { message, ..failure }.give_up().into());
        }
        journal.wait_out(&endpoint, UNREACHABLE.after(self.waited)).await?;
        self.waited += 1;
        Ok(())
    }
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
            variant: None,
            // Its other fields are those of the newest list.
            by_id: true,
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

    fn action(&self) -> Option<&'static str> {
        Some(self.handler.action())
    }

    fn runs_on(&self) -> RunsOn {
        self.runs_on.clone()
    }
}

#[cfg(test)]
mod tests;
