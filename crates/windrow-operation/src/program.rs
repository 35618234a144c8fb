//! A prepared operation: pages its frozen targets, and walks one of them to its goal. Before every
//! call the target is looked at and the intent is on record; after every call it is looked at again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;
use windrow_model::priority::Priority;
use windrow_model::retry::RetryPolicy;
use windrow_model::step::{ContentKey, OnUnknown, StepIntent, StepResult, Usage};
use windrow_model::store::NewItem;
use windrow_model::workload::{Done, Halt, Journal, Place, Program, SourcePage, StepNo, WorkItem};
use windrow_model::{ErrorClass, Failure, Json};

use super::handler::{self, Call, Handler, Journey, Made, Next, Trouble, Way};
use super::round::{self, Round};
use super::scripted::Probe;
use super::spec::OperationSpec;
use super::target::Target;
use windrow_jobfile::environment::Environment;

/// How soon a target is looked at again, at first and at most.
const LOOK_MS: (u64, u64) = (50, 1_000);
/// How often a look is taken that fails in passing.
const LOOKS: usize = 5;
/// A call nobody has answered may still take effect within this time.
const DOUBT: Duration = Duration::from_secs(1);

pub struct Operation {
    targets: Vec<Target>,
    handler: Arc<dyn Handler>,
    health: Option<Probe>,
    retry: RetryPolicy,
    timeout_ms: i64,
    place: Place,
    force: bool,
}

impl Operation {
    pub fn prepare(spec: OperationSpec, environment: &Environment) -> Result<Self, Failure> {
        let health = spec.health.map(|health| Probe::new(health, environment)).transpose()?;
        let handler = handler::build(&spec.action, environment)?;
        let OperationSpec { targets, retry, timeout_ms, force, worker, .. } = spec;
        let place = match worker {
            Some(worker) => Place::Elsewhere { needs: vec![super::CAPABILITY.to_owned(), worker] },
            None => Place::Here,
        };
        Ok(Self { targets, handler, health, retry, timeout_ms, place, force })
    }

    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    pub fn handler(&self) -> &dyn Handler {
        &*self.handler
    }

    async fn apply(&self, target: &Target, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let last = round::rounds(journal.history()).pop();
        let mut round = match last {
            // The proof is on record, and only the hand-in was lost.
            Some(Round { reached: Some((_, attempt)), .. }) if attempt >= item.first_try => return Ok(Done::default()),
            // Its pre-image stands, also half way back; the goal may be another one by now.
            Some(mut round) if round.is_open() => {
                round.turn_round();
                Round { after: self.handler.after(target, &round.before)?, ..round }
            }
            _ => match self.begin(target, journal).await? {
                Some(round) => round,
                None => return Ok(Done { skipped: true, ..Done::default() }),
            },
        };
        let image = self.travel(Way::Apply, target, &mut round, journal).await?;
        note(journal, target, round::VERIFY, json!({}), image);
        Ok(Done::default())
    }

    /// A first look: `None` where it is done already.
    async fn begin(&self, target: &Target, journal: &dyn Journal) -> Result<Option<Round>, Halt> {
        let before = self.look(target).await?;
        let image = self.handler.essence(before.clone().unwrap_or_default());
        let after = self.handler.after(target, &image)?;
        let round = Round { before: image, after, ..Round::default() };
        let done = before.is_some() && self.next(Way::Apply, target, &round, before.as_ref())? == Next::Reached;
        note(journal, target, round::VALIDATE, json!({}), json!({ "done": done, "before": round.before }));
        if done {
            return Ok(None);
        }
        self.validate(target, &round).await?;
        note(journal, target, round::CAPTURE, json!({}), json!({ "before": round.before, "after": round.after }));
        Ok(Some(round))
    }

    async fn undo(&self, target: &Target, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let mut rounds = round::rounds(journal.history());
        if rounds.last().and_then(|round| round.restored).is_some_and(|attempt| attempt >= item.first_try) {
            return Ok(Done::default());
        }
        let Some(mut round) = rounds.drain(..).rev().find(Round::may_have_changed) else {
            return Ok(Done { skipped: true, ..Done::default() });
        };
        if let Some(why) = self.handler.irreversible() {
            return Err(refused(why).into());
        }
        if !self.force && !round.turned {
            self.check_unchanged(target, &round).await?;
        }
        let image = self.travel(Way::Undo, target, &mut round, journal).await?;
        note(journal, target, round::RESTORE, json!({}), image);
        Ok(Done::default())
    }

    /// Whoever changed the target after us would lose that change.
    async fn check_unchanged(&self, target: &Target, round: &Round) -> Result<(), Failure> {
        let (Some((reached, _)), Some(now)) = (&round.reached, self.look(target).await?) else { return Ok(()) };
        let print = |image: &Value| self.handler.fingerprint(&self.handler.essence(image.clone()));
        if print(&now) == print(reached) || print(&now) == print(&round.before) {
            return Ok(());
        }
        let changes = super::differences(&print(reached), &print(&now)).join("; ");
        Err(refused(format!("it has changed since ({changes}); roll it back with --force to lose that change")))
    }

    /// Looking does no harm, so a look that fails in passing is taken again.
    async fn look(&self, target: &Target) -> Result<Option<Value>, Failure> {
        let mut pause = Look::new();
        for _ in 1..LOOKS {
            match self.handler.read(target).await {
                Err(failure) if is_passing(failure.class) => pause.wait().await,
                read => return read,
            }
        }
        self.handler.read(target).await
    }

    async fn validate(&self, target: &Target, round: &Round) -> Result<(), Failure> {
        let mut pause = Look::new();
        for _ in 1..LOOKS {
            match self.handler.validate(target, &round.after).await {
                Err(failure) if is_passing(failure.class) => pause.wait().await,
                validated => return validated,
            }
        }
        self.handler.validate(target, &round.after).await
    }

    fn next(&self, way: Way, target: &Target, round: &Round, now: Option<&Value>) -> Result<Next, Failure> {
        let Round { before, after, kept, .. } = round;
        self.handler.next(&Journey { target, way, before, after, now, made: round.made(way), kept: *kept })
    }

    /// Calls until the goal is reached, and returns what the target looks like then.
    async fn travel(&self, way: Way, target: &Target, round: &mut Round, journal: &dyn Journal) -> Result<Value, Halt> {
        let mut look = Look::new();
        let mut acknowledged: Vec<Call> = Vec::new();
        // What an earlier process has left open may still be on its way.
        let mut doubt =
            round.made(way).last().filter(|made| !made.answered).map(|_| Doubt { since: Instant::now(), open: None });
        let mut reached_at: Option<Instant> = None;
        loop {
            let now = self.look(target).await?;
            let next = self.next(way, target, round, now.as_ref())?;
            if next != Next::Reached {
                reached_at = None;
            }
            match next {
                Next::Reached => {
                    resolve(&mut doubt, journal, true);
                    let since = *reached_at.get_or_insert_with(Instant::now);
                    if since.elapsed() >= Duration::from_millis(self.handler.steady_ms().max(0) as u64) {
                        return Ok(self.handler.essence(now.unwrap_or_default()));
                    }
                    look.wait().await;
                }
                Next::Wait(_) => look.wait().await,
                Next::Keep => {
                    let now = now.unwrap_or_default();
                    round.before = self.handler.keep(&round.before, &now);
                    round.kept = true;
                    note(
                        journal,
                        target,
                        round::CAPTURE,
                        json!({}),
                        json!({ "before": round.before, "after": round.after }),
                    );
                }
                Next::Call(call) if acknowledged.contains(&call) => look.wait().await,
                Next::Call(call) => {
                    let early = doubt.as_ref().is_some_and(|doubt| now.is_some() && doubt.since.elapsed() < DOUBT);
                    if early {
                        look.wait().await;
                        continue;
                    }
                    let happened =
                        doubt.as_ref().is_some_and(|doubt| doubt.open.as_ref().is_some_and(|open| open.call != call));
                    resolve(&mut doubt, journal, happened);
                    look = Look::new();
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
                            round.make(way, Made { name: call.name.clone(), answered: true });
                            acknowledged.push(call);
                        }
                        Err(Trouble::Busy(failure)) => {
                            journal.finish(no, StepResult::Failed { failure });
                            look.wait().await;
                        }
                        Err(Trouble::Unknown(failure)) => {
                            round.make(way, Made { name: call.name.clone(), answered: false });
                            doubt = Some(Doubt { since: Instant::now(), open: Some(Open { no, call, failure }) });
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
struct Doubt {
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
fn resolve(doubt: &mut Option<Doubt>, journal: &dyn Journal, happened: bool) {
    let Some(Doubt { open: Some(Open { no, failure, .. }), .. }) = doubt.take() else { return };
    let result = match happened {
        true => done(&json!({ "read_back": true, "answer": failure.to_string() })),
        false => StepResult::Failed { failure },
    };
    journal.finish(no, result);
}

/// Ever longer pauses between two looks.
struct Look(u64);

impl Look {
    fn new() -> Self {
        Self(LOOK_MS.0)
    }

    async fn wait(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.0)).await;
        self.0 = (self.0 * 2).min(LOOK_MS.1);
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
    journal.whole(intent, done(&output));
}

fn is_passing(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Network | ErrorClass::Timeout | ErrorClass::Server | ErrorClass::RateLimited)
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}

#[async_trait]
impl Program for Operation {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let from: usize = match cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|error| refused(format!("the planning cursor is bad: {error}")))?,
        };
        let to = from.saturating_add(limit).min(self.targets.len());
        let item = |target: &Target| NewItem {
            key: target.key(),
            input: Json::of(target),
            priority: Priority::NORMAL,
            resource: Some(self.handler.lock(target)),
            not_before: None,
            group: None,
        };
        let items = self.targets.get(from..to).unwrap_or_default().iter().map(item).collect();
        Ok(SourcePage { items, cursor: Some(Json::of(&to)), done: to >= self.targets.len() })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let target: Target =
            item.input.parse().map_err(|error| refused(format!("the target is unreadable: {error}")))?;
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
        super::KIND
    }

    fn place(&self) -> Place {
        self.place.clone()
    }
}
