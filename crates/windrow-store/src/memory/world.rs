//! The tables and their indexes. An attempt changes only through [`World::change_attempt`], which
//! keeps the hot indexes in step; a resulted attempt is in none of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use windrow_model::event::{self, PartialItem};
use windrow_model::failure::ErrorClass;
use windrow_model::label::Label;
use windrow_model::limit::Wait;
use windrow_model::priority::Priority;
use windrow_model::record::{Attempt, Job, LogEntry, LogLevel, OutboxEvent, Run, Session, Step};
use windrow_model::state::{ATTEMPT, AttemptEvent, AttemptState, ItemState};
use windrow_model::step::{ContentKey, Score, Usage};
use windrow_model::store::{NewLog, Result, StoreError};
use windrow_model::{AttemptId, ItemId, JobId, Json, RunId, SessionId, StepId, Ticket, Time};

pub(super) struct JobRow {
    pub job: Job,
    pub next_ordinal: i64,
}

pub(super) struct ItemRow {
    pub job: JobId,
    pub run: RunId,
    pub ordinal: i64,
    pub key: ContentKey,
    pub group: Option<ContentKey>,
    pub variant: Option<String>,
    pub wave: i64,
    pub priority: Priority,
    pub resource: Option<String>,
    pub state: ItemState,
    pub tries: u32,
    pub archived: Option<AttemptId>,
    pub error: Option<(ErrorClass, String)>,
    pub latency_ms: Option<i64>,
    pub usage: Usage,
    pub finished_at: Option<Time>,
    pub input: Json,
    pub scores: Vec<Score>,
}

pub(super) struct AttemptRow {
    pub attempt: Attempt,
    pub latency_ms: i64,
    pub usage: Usage,
    pub scores: Vec<Score>,
}

#[derive(Default)]
pub(super) struct World {
    pub sessions: BTreeMap<SessionId, Session>,
    pub waits: BTreeMap<SessionId, Vec<Wait>>,
    pub jobs: BTreeMap<JobId, JobRow>,
    pub specs: BTreeMap<String, Json>,
    pub runs: BTreeMap<RunId, Run>,
    pub items: BTreeMap<ItemId, ItemRow>,
    pub attempts: BTreeMap<AttemptId, AttemptRow>,
    pub steps: BTreeMap<StepId, Step>,
    pub shared: HashMap<(String, ContentKey), StepId>,
    pub outbox: BTreeMap<i64, OutboxEvent>,
    pub log: BTreeMap<i64, LogEntry>,
    pub keys: HashMap<(JobId, ContentKey), ItemId>,
    pub queued: BTreeSet<(RunId, i64, Priority, Time, AttemptId)>,
    pub blocked: BTreeSet<(String, RunId, AttemptId)>,
    pub leased: BTreeSet<(Time, AttemptId)>,
    pub leased_by_run: BTreeMap<RunId, BTreeSet<AttemptId>>,
    pub held: BTreeMap<String, AttemptId>,
    pub logged: BTreeSet<(RunId, AttemptId)>,
    /// Deleted, with something left to be swept away.
    pub doomed: BTreeSet<JobId>,
    /// Cost of the runs of deleted jobs, by workspace.
    pub costs_of_deleted: BTreeMap<String, i64>,
    pub item_seq: i64,
    pub outbox_seq: i64,
    pub outbox_forgotten: i64,
    /// Items at work that showed something in the reports being received.
    pub shown: BTreeMap<RunId, Vec<PartialItem>>,
    pub log_seq: i64,
    pub labels: BTreeMap<i64, Label>,
    pub label_seq: i64,
    /// Items whose rows in the result table changed.
    pub changes: BTreeMap<i64, (JobId, ItemId)>,
    pub change_seq: i64,
    pub changes_forgotten: BTreeMap<JobId, i64>,
}

impl World {
    pub fn run(&self, id: RunId) -> Result<&Run> {
        self.runs.get(&id).ok_or_else(|| StoreError::NotFound { what: "run", id: id.to_string() })
    }

    /// For a run known to exist.
    pub fn run_mut(&mut self, id: RunId) -> &mut Run {
        self.runs.get_mut(&id).expect("run exists")
    }

    pub fn check_ticket(&self, ticket: Ticket) -> Result<&Run> {
        let run = self.run(ticket.run)?;
        if run.epoch != ticket.epoch || run.coordinator.is_none() || run.state.is_final() {
            return Err(StoreError::Stale { run: ticket.run });
        }
        Ok(run)
    }

    pub fn insert_attempt(&mut self, attempt: Attempt) {
        self.index(&attempt);
        self.note_change(attempt.id.item());
        let row = AttemptRow { attempt, latency_ms: 0, usage: Usage::default(), scores: Vec::new() };
        self.attempts.insert(row.attempt.id, row);
    }

    /// Applies `event` by the table and then `change`, keeping every index in step.
    pub fn change_attempt(&mut self, id: AttemptId, event: AttemptEvent, change: impl FnOnce(&mut AttemptRow)) {
        let mut row = self.attempts.remove(&id).expect("attempt exists");
        self.unindex(&row.attempt);
        self.note_change(id.item());
        row.attempt.state = ATTEMPT.next(row.attempt.state, event).expect("caller checked the state");
        change(&mut row);
        self.index(&row.attempt);
        self.attempts.insert(id, row);
    }

    fn index(&mut self, a: &Attempt) {
        match a.state {
            AttemptState::Queued => {
                self.queued.insert((a.run, a.wave, a.priority, a.due_at, a.id));
            }
            AttemptState::Blocked => {
                self.blocked.insert((a.resource.clone().expect("blocked on a resource"), a.run, a.id));
            }
            AttemptState::Running => {
                self.leased.insert((a.due_at, a.id));
                self.leased_by_run.entry(a.run).or_default().insert(a.id);
                if let Some(resource) = &a.resource {
                    let other = self.held.insert(resource.clone(), a.id);
                    assert!(other.is_none(), "{resource} is held twice");
                }
            }
            AttemptState::Logged => {
                self.logged.insert((a.run, a.id));
            }
            AttemptState::Resulted => {}
        }
    }

    fn unindex(&mut self, a: &Attempt) {
        match a.state {
            AttemptState::Queued => {
                self.queued.remove(&(a.run, a.wave, a.priority, a.due_at, a.id));
            }
            AttemptState::Blocked => {
                self.blocked.remove(&(a.resource.clone().expect("blocked on a resource"), a.run, a.id));
            }
            AttemptState::Running => {
                self.leased.remove(&(a.due_at, a.id));
                self.leased_by_run.entry(a.run).or_default().remove(&a.id);
                if let Some(resource) = &a.resource {
                    self.held.remove(resource);
                }
            }
            AttemptState::Logged => {
                self.logged.remove(&(a.run, a.id));
            }
            AttemptState::Resulted => {}
        }
    }

    pub fn leased_in(&self, run: RunId) -> impl ExactSizeIterator<Item = AttemptId> + '_ {
        static NONE: BTreeSet<AttemptId> = BTreeSet::new();
        self.leased_by_run.get(&run).unwrap_or(&NONE).iter().copied()
    }

    pub fn queued_in(&self, run: RunId) -> impl Iterator<Item = (Time, AttemptId)> + '_ {
        self.queued_between(run, 0, i64::MAX)
    }

    /// Of these waves.
    pub fn queued_between(&self, run: RunId, first: i64, last: i64) -> impl Iterator<Item = (Time, AttemptId)> + '_ {
        let first = (run, first, Priority::HIGHEST, Time(i64::MIN), AttemptId(i64::MIN));
        let last = (run, last, Priority::LOWEST, Time(i64::MAX), AttemptId(i64::MAX));
        self.queued.range(first..=last).map(|(_, _, _, due, id)| (*due, *id))
    }

    pub fn logged_in(&self, run: RunId) -> impl Iterator<Item = AttemptId> + '_ {
        self.logged.range((run, AttemptId(i64::MIN))..=(run, AttemptId(i64::MAX))).map(|(_, id)| *id)
    }

    /// Whoever waited for the resource may go on: the first of each run, so that a paused run cannot
    /// keep the others waiting.
    pub fn free(&mut self, resource: Option<String>) {
        let Some(resource) = resource else { return };
        let mut after = (resource.clone(), RunId(i64::MIN), AttemptId(i64::MIN));
        loop {
            let first = self.blocked.range(after.clone()..).next().filter(|(held, _, _)| *held == resource);
            let Some((_, run, id)) = first.cloned() else { break };
            self.change_attempt(id, AttemptEvent::Unblock, |_| {});
            after = (resource.clone(), run, AttemptId(i64::MAX));
        }
    }

    pub fn emit(&mut self, run: RunId, kind: &str, body: Json, now: Time) {
        self.outbox_seq += 1;
        let row = self.run_mut(run);
        row.moved_at = now;
        let job = row.job;
        let workspace = self.jobs[&job].job.workspace.clone();
        let event = OutboxEvent { id: self.outbox_seq, at: now, workspace, job, run, kind: kind.into(), body };
        self.outbox.insert(event.id, event);
    }

    pub fn emit_state(&mut self, run: RunId, actor: &str, reason: Option<&str>, now: Time) {
        let Run { state, counters, .. } = self.runs[&run];
        self.emit(run, event::RUN_STATE, event::state(state, actor, reason, counters), now);
    }

    pub fn log(&mut self, entry: NewLog, now: Time) {
        self.log_seq += 1;
        let NewLog { job, run, item, level, event, actor, message } = entry;
        let row = LogEntry { id: self.log_seq, at: now, job, run, item, level, event, actor, message };
        self.log.insert(row.id, row);
    }

    pub fn log_system(
        &mut self,
        run: RunId,
        item: Option<ItemId>,
        level: LogLevel,
        event: &str,
        message: String,
        now: Time,
    ) {
        let job = self.runs[&run].job;
        let entry = NewLog { job, run: Some(run), item, level, event: event.into(), actor: "system".into(), message };
        self.log(entry, now);
    }
}
