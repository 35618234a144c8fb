//! The executable specification: every verb on plain maps, one lock, no waiting. The simulation and
//! the differential test run on it; nothing survives the process.

mod admit;
mod archive;
mod claim;
mod clean_up;
mod close;
mod datasets;
mod delete_job;
mod health;
mod labels;
mod plan;
mod read;
mod reap;
mod report;
mod request_transition;
mod result_changes;
mod results;
mod rollout;
mod schedule;
mod search;
mod session;
mod submit;
mod waits;
mod world;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use windrow_model::aggregate::{Aggregates, Stats};
use windrow_model::compare::Comparison;
use windrow_model::counters::{Counters, JobCounters};
use windrow_model::health::{HealthSnapshot, HealthThresholds};
use windrow_model::item_query::{ItemPage, ItemQuery};
use windrow_model::label::{Label, NewLabel};
use windrow_model::limit::Wait;
use windrow_model::record::{
    BadScore, Item, ItemDetail, ItemResult, Job, LogEntry, OutboxEvent, Run, RunLimits, Schedule, Session, Step,
};
use windrow_model::state::{RunEvent, StepState};
use windrow_model::step::ContentKey;
use windrow_model::store::*;
use windrow_model::why::RunDiagnosis;
use windrow_model::{AttemptId, ErrorClass, ItemId, JobId, Json, Lease, RunId, SessionId, Ticket, Time};

use world::World;

#[derive(Default)]
pub struct MemoryStore {
    world: Mutex<World>,
    shelf: Mutex<datasets::Shelf>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Verbs check before they change, so a panic between two changes is a bug either way; the
    /// simulation would rather see the damaged world than a poisoned lock.
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf(&self) -> MutexGuard<'_, datasets::Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Queue for MemoryStore {
    async fn open_session(&self, session: Session) -> Result<()> {
        self.world().open_session(session)
    }
    async fn beat(&self, session: SessionId, lease_ms: i64, now: Time) -> Result<Beat> {
        self.world().beat(session, lease_ms, now)
    }
    async fn drain(&self, session: SessionId) -> Result<()> {
        self.world().drain(session)
    }
    async fn runs_elsewhere(&self, session: SessionId, scope: Scope, now: Time) -> Result<Vec<Run>> {
        Ok(self.world().runs_elsewhere(session, &scope, now))
    }
    async fn expire_session(&self, session: SessionId, now: Time) -> Result<()> {
        self.world().expire_session(session, now)
    }
    async fn note_waits(&self, session: SessionId, waits: Vec<Wait>) -> Result<()> {
        self.world().note_waits(session, waits)
    }
    async fn sessions(&self) -> Result<Vec<Session>> {
        Ok(self.world().open_sessions())
    }
    async fn submit(&self, submission: Submission, now: Time) -> Result<Submitted> {
        self.world().submit(submission, now)
    }
    async fn admit(&self, admission: Admission, now: Time) -> Result<Vec<Held>> {
        self.world().admit(&admission, now)
    }
    async fn plan_items(&self, page: PlanPage, now: Time) -> Result<Planned> {
        self.world().plan_items(page, now)
    }
    async fn replan_items(&self, ticket: Ticket, selection: Selection, limit: usize, now: Time) -> Result<Planned> {
        self.world().replan_items(ticket, &selection, limit, now)
    }
    async fn feed_items(&self, run: RunId, items: Vec<NewItem>, now: Time) -> Result<Planned> {
        self.world().feed_items(run, items, now)
    }
    async fn claim(&self, claim: Claim, now: Time) -> Result<Vec<Claimed>> {
        self.world().claim(&claim, now)
    }
    async fn history(&self, attempt: AttemptId) -> Result<Vec<Step>> {
        Ok(self.world().history(attempt))
    }
    async fn shared_step(&self, run: RunId, key: ContentKey) -> Result<Option<Step>> {
        let world = self.world();
        let Some(run) = world.runs.get(&run) else { return Ok(None) };
        let workspace = &world.jobs[&run.job].job.workspace;
        let found = world.shared.get(&(workspace.clone(), key)).and_then(|id| world.steps.get(id));
        Ok(found.filter(|step| step.state == StepState::Done).cloned())
    }
    async fn renew(&self, leases: Vec<Lease>, lease_ms: i64, now: Time) -> Result<Vec<Renewal>> {
        Ok(self.world().renew(&leases, lease_ms, now))
    }
    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>> {
        let mut world = self.world();
        let receipts: Vec<Receipt> = reports.iter().map(|report| world.report(report.clone(), now)).collect();
        world.conclude(&reports, &receipts, now);
        Ok(receipts)
    }
    async fn archive(&self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived> {
        self.world().archive(ticket, limit, now)
    }
    async fn reap(&self, limit: usize, now: Time) -> Result<Reaped> {
        Ok(self.world().reap(limit, now))
    }
    async fn cancel_items(&self, ticket: Ticket, limit: usize, now: Time) -> Result<i64> {
        self.world().cancel_items(ticket, limit, now)
    }
    async fn open_wave(&self, ticket: Ticket, wave: i64, now: Time) -> Result<Run> {
        self.world().open_wave(ticket, wave, now)
    }
    async fn halt(&self, ticket: Ticket, reason: &str, now: Time) -> Result<Run> {
        self.world().halt(ticket, reason, now)
    }
    async fn yield_run(&self, ticket: Ticket, _now: Time) -> Result<()> {
        self.world().yield_run(ticket)
    }
    async fn close_run(&self, ticket: Ticket, closing: Closing, now: Time) -> Result<Run> {
        self.world().close_run(ticket, closing, now)
    }
    async fn summarize_run(&self, run: RunId, summary: Summary, now: Time) -> Result<()> {
        self.world().summarize_run(run, summary, now)
    }
    async fn unsummarized_runs(&self, limit: usize) -> Result<Vec<RunId>> {
        let world = self.world();
        let unsummarized = world.runs.values().filter(|run| run.ended_at.is_some() && run.summary.is_none());
        Ok(unsummarized.map(|run| run.id).take(limit).collect())
    }
    async fn request_transition(
        &self,
        run: RunId,
        event: RunEvent,
        actor: &str,
        reason: Option<&str>,
        now: Time,
    ) -> Result<Run> {
        self.world().request_transition(run, event, actor, reason, now)
    }
    async fn approve(&self, run: RunId, wave: i64, actor: &str, now: Time) -> Result<Run> {
        self.world().approve(run, wave, actor, now)
    }
    async fn amend(&self, run: RunId, limits: RunLimits, actor: &str, now: Time) -> Result<Run> {
        self.world().amend(run, limits, actor, now)
    }
    async fn schedule(&self, job: JobId, schedule: Option<Schedule>, actor: &str, now: Time) -> Result<()> {
        self.world().schedule(job, schedule, actor, now)
    }
    async fn log(&self, entries: Vec<NewLog>, now: Time) -> Result<()> {
        let mut world = self.world();
        entries.into_iter().for_each(|entry| world.log(entry, now));
        Ok(())
    }
    async fn label_items(&self, job: JobId, labels: Vec<NewLabel>, author: &str, now: Time) -> Result<i64> {
        self.world().label_items(job, labels, author, now)
    }
    async fn outbox(&self, after: i64, limit: usize) -> Result<Vec<OutboxEvent>> {
        Ok(self.world().outbox_after(after, limit))
    }
    async fn outbox_reach(&self) -> Result<OutboxReach> {
        Ok(self.world().outbox_reach())
    }
    async fn forget_outbox(&self, up_to: i64) -> Result<()> {
        self.world().forget_outbox(up_to);
        Ok(())
    }
    async fn forget_result_changes(&self, job: JobId, up_to: i64, keep: usize) -> Result<()> {
        self.world().forget_result_changes(job, up_to, keep);
        Ok(())
    }

    async fn jobs_with_changes(&self, more_than: usize) -> Result<Vec<JobId>> {
        Ok(self.world().jobs_with_changes(more_than))
    }
    async fn pin(&self, job: JobId, pinned: bool, actor: &str, now: Time) -> Result<()> {
        self.world().pin(job, pinned, actor, now)
    }

    async fn clean_up(&self, retention: Retention, limit: usize, now: Time) -> Result<i64> {
        Ok(self.world().clean_up(retention, limit, now))
    }
    async fn delete_job(&self, job: JobId) -> Result<()> {
        self.world().take_out_of_sight(job)
    }
    async fn sweep_jobs(&self, limit: usize) -> Result<i64> {
        Ok(self.world().sweep_jobs(limit))
    }
    async fn job(&self, id: JobId) -> Result<Job> {
        self.world().job(id)
    }
    async fn due_jobs(&self, limit: usize, now: Time) -> Result<Vec<Job>> {
        Ok(self.world().due_jobs(limit, now))
    }
    async fn run(&self, id: RunId) -> Result<Run> {
        self.world().run(id).cloned()
    }
    async fn spec(&self, hash: &str) -> Result<Json> {
        self.world().spec(hash)
    }
    async fn outline(&self, id: ItemId) -> Result<ItemDetail> {
        self.world().outline(id)
    }
    async fn newest_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
        Ok(self.world().newest_steps(attempt, None, limit))
    }
    async fn failed_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
        Ok(self.world().newest_steps(attempt, Some(StepState::Failed), limit))
    }
    async fn aggregates(&self, run: RunId) -> Result<Aggregates> {
        let world = self.world();
        let run = world.run(run)?.id;
        Ok(world.tally_of(run))
    }
    async fn failed_classes(&self, run: RunId) -> Result<Vec<ErrorClass>> {
        Ok(self.world().failed_classes(run))
    }
    async fn recount(&self, run: RunId) -> Result<Counters> {
        self.world().recount(run)
    }
    async fn cost_of_workspace(&self, workspace: &str) -> Result<i64> {
        Ok(self.world().cost_of_workspace(workspace))
    }
}

#[async_trait]
impl Reads for MemoryStore {
    async fn find_job(&self, workspace: &str, name: &str) -> Result<Option<Job>> {
        Ok(self.world().find_job(workspace, name))
    }
    async fn jobs(&self, filter: JobFilter) -> Result<Vec<(Job, Run)>> {
        Ok(self.world().list_jobs(&filter))
    }
    async fn runs(&self, job: JobId) -> Result<Vec<Run>> {
        Ok(self.world().runs_of(job))
    }
    async fn items(&self, filter: ItemFilter) -> Result<Vec<Item>> {
        Ok(self.world().list_items(&filter))
    }
    async fn search_items(&self, query: ItemQuery) -> Result<ItemPage> {
        Ok(self.world().search_items(&query))
    }
    async fn item(&self, id: ItemId) -> Result<ItemDetail> {
        self.world().item_detail(id)
    }
    async fn details(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>> {
        let world = self.world();
        ids.into_iter().map(|id| world.item_detail(id)).collect()
    }

    async fn outlines(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>> {
        let world = self.world();
        ids.into_iter().map(|id| world.outline(id)).collect()
    }
    async fn logs(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<LogEntry>> {
        Ok(self.world().logs_of(job, after, limit))
    }
    async fn labels(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<Label>> {
        Ok(self.world().labels_of_job(job, after, limit))
    }
    async fn newest_label(&self, job: JobId) -> Result<i64> {
        Ok(self.world().newest_label(job))
    }
    async fn stats(&self, extent: Extent) -> Result<Stats> {
        Ok(self.world().stats(&extent))
    }
    async fn recount_job(&self, job: JobId) -> Result<JobCounters> {
        Ok(self.world().recount_job(job))
    }
    async fn job_aggregates(&self, job: JobId) -> Result<Aggregates> {
        Ok(self.world().tally_current(job))
    }
    async fn results(&self, run: RunId, after: Option<ItemId>, limit: usize) -> Result<Vec<ItemResult>> {
        self.world().results(run, after, limit)
    }
    async fn result_changes(&self, job: JobId, after: i64, limit: usize) -> Result<Option<ResultChanges>> {
        Ok(self.world().result_changes_after(job, after, limit))
    }
    async fn newest_result_change(&self, job: JobId) -> Result<i64> {
        Ok(self.world().newest_result_change(job))
    }
    async fn worst(&self, run: RunId, limit: usize) -> Result<Vec<BadScore>> {
        self.world().worst(run, limit)
    }
    async fn compare(&self, before: RunPart, after: RunPart, limit: usize) -> Result<Comparison> {
        self.world().compare(&before, &after, limit)
    }
    async fn diagnose(&self, run: RunId, now: Time) -> Result<RunDiagnosis> {
        self.world().diagnose(run, now)
    }
    async fn health(&self, workspace: Option<String>, patience: HealthThresholds, now: Time) -> Result<HealthSnapshot> {
        Ok(self.world().health(workspace.as_deref(), &patience, now))
    }
}
