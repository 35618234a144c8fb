use std::collections::BTreeMap;

use windrow_model::aggregate::Stats;
use windrow_model::counters::{Counters, JobCounters};
use windrow_model::record::{Attempt, Item, ItemDetail, Job, LogEntry, OutboxEvent, Run, Step};
use windrow_model::state::{Outcome, StepState};
use windrow_model::store::{Extent, ItemFilter, JobFilter, OutboxReach, Result, StoreError};
use windrow_model::why::RunDiagnosis;
use windrow_model::{AttemptId, ItemId, JobId, Json, RunId, Time};

use super::world::{ItemRow, World};

impl World {
    pub fn job(&self, id: JobId) -> Result<Job> {
        let row = self.jobs.get(&id).ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?;
        Ok(self.counted(&row.job))
    }

    /// The stores for production keep these counters; here they are what the rows say.
    pub(super) fn counted(&self, job: &Job) -> Job {
        Job { counters: self.recount_job(job.id), ..job.clone() }
    }

    pub fn recount_job(&self, job: JobId) -> JobCounters {
        let mut counted = JobCounters::default();
        for (id, row) in self.items.iter().filter(|(_, row)| row.job == job) {
            let attempt = self.attempts[&AttemptId::new(*id, row.tries)].attempt.state;
            counted.add(self.runs[&row.run].mode, Counters::of_items(row.state, attempt, 1));
        }
        let retried = |attempt: &&Attempt| matches!(attempt.outcome, Some(Outcome::Retried | Outcome::Lost));
        let attempts = self.attempts.values().map(|row| &row.attempt).filter(retried);
        counted.all.retries =
            attempts.filter(|attempt| self.runs.get(&attempt.run).is_some_and(|run| run.job == job)).count() as i64;
        counted
    }

    pub fn find_job(&self, workspace: &str, name: &str) -> Option<Job> {
        let mut jobs = self.jobs.values().map(|row| &row.job);
        jobs.find(|job| job.workspace == workspace && job.name == name).map(|job| self.counted(job))
    }

    pub fn list_jobs(&self, f: &JobFilter) -> Vec<(Job, Run)> {
        let wanted = |job: &&Job| {
            f.workspace.as_ref().is_none_or(|workspace| *workspace == job.workspace)
                && f.kind.as_ref().is_none_or(|kind| *kind == job.kind)
                && f.name_contains.as_ref().is_none_or(|part| job.name.contains(part.as_str()))
                && (!f.scheduled || job.schedule.is_some())
                && f.before.is_none_or(|before| job.id < before)
        };
        let newest_first = self.jobs.values().rev().map(|row| &row.job).filter(wanted);
        let with_run = newest_first.map(|job| (self.counted(job), self.runs[&job.latest_run].clone()));
        let fits = |(job, run): &(Job, Run)| f.status.as_ref().is_none_or(|word| word.fits(job, run));
        with_run.filter(fits).filter(|(job, _)| f.labels.fits_job(&job.labels)).take(f.limit).collect()
    }

    pub fn spec(&self, hash: &str) -> Result<Json> {
        let spec = self.specs.get(hash).cloned();
        spec.ok_or_else(|| StoreError::NotFound { what: "definition", id: hash.to_owned() })
    }

    pub fn list_items(&self, f: &ItemFilter) -> Vec<Item> {
        let above = ItemId(f.after.map_or(0, |after| after.0 + 1));
        self.items
            .range(above..)
            .filter(|(_, row)| {
                row.job == f.job && f.run.is_none_or(|run| run == row.run) && f.state.is_none_or(|s| s == row.state)
            })
            .take(f.limit)
            .map(|(id, row)| self.item_record(*id, row))
            .collect()
    }

    pub(super) fn item_record(&self, id: ItemId, row: &ItemRow) -> Item {
        Item {
            id,
            job: row.job,
            run: row.run,
            ordinal: row.ordinal,
            key: row.key,
            group: row.group,
            variant: row.variant.clone(),
            wave: row.wave,
            state: row.state,
            tries: row.tries,
            attempt_state: self.attempts[&AttemptId::new(id, row.tries)].attempt.state,
            archived: row.archived,
            error: row.error.clone(),
            latency_ms: row.latency_ms,
            usage: row.usage,
            finished_at: row.finished_at,
        }
    }

    pub fn item_detail(&self, id: ItemId) -> Result<ItemDetail> {
        let (_, last) = id.attempts();
        Ok(ItemDetail { steps: self.history(last), ..self.outline(id)? })
    }

    /// Without its steps.
    pub fn outline(&self, id: ItemId) -> Result<ItemDetail> {
        let row = self.items.get(&id).ok_or_else(|| StoreError::NotFound { what: "item", id: id.to_string() })?;
        let (first, last) = id.attempts();
        let mut scores = row.scores.clone();
        scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
        Ok(ItemDetail {
            item: self.item_record(id, row),
            input: row.input.clone(),
            scores,
            attempts: self.attempts.range(first..=last).map(|(_, row)| row.attempt.clone()).collect(),
            steps: Vec::new(),
            labels: self.labels_of(id),
        })
    }

    pub fn newest_steps(&self, attempt: AttemptId, state: Option<StepState>, limit: usize) -> Vec<Step> {
        let own = self.steps.range(attempt.first_step()..=attempt.last_step()).map(|(_, step)| step);
        own.rev().filter(|step| state.is_none_or(|state| step.state == state)).take(limit).cloned().collect()
    }

    pub fn logs_of(&self, job: JobId, after: i64, limit: usize) -> Vec<LogEntry> {
        self.log
            .range(after + 1..)
            .map(|(_, entry)| entry)
            .filter(|entry| entry.job == job)
            .take(limit)
            .cloned()
            .collect()
    }

    pub fn outbox_after(&self, after: i64, limit: usize) -> Vec<OutboxEvent> {
        self.outbox.range(after + 1..).take(limit).map(|(_, event)| event.clone()).collect()
    }

    pub fn outbox_reach(&self) -> OutboxReach {
        OutboxReach { forgotten: self.outbox_forgotten, newest: self.outbox_seq }
    }

    pub fn forget_outbox(&mut self, up_to: i64) {
        let up_to = up_to.min(self.outbox_seq);
        self.outbox_forgotten = self.outbox_forgotten.max(up_to);
        self.outbox = self.outbox.split_off(&(up_to + 1));
    }

    pub fn stats(&self, extent: &Extent) -> Stats {
        let wanted = |candidate: JobId| match extent {
            Extent::All => true,
            Extent::Workspace(workspace) => self.jobs[&candidate].job.workspace == *workspace,
            Extent::Job(job) => *job == candidate,
        };
        let mut stats = Stats { jobs: self.jobs.keys().filter(|id| wanted(**id)).count() as i64, ..Default::default() };
        for run in self.runs.values().filter(|run| wanted(run.job)) {
            stats.runs += 1;
            *stats.runs_by_state.entry(run.state.to_string()).or_default() += 1;
        }
        for row in self.items.values().filter(|row| wanted(row.job)) {
            stats.items += 1;
            *stats.items_by_state.entry(row.state.to_string()).or_default() += 1;
        }
        let (mut timed, mut total_ms) = (0, 0);
        for attempt in self.attempts.values().map(|row| &row.attempt).filter(|a| wanted(self.runs[&a.run].job)) {
            stats.attempts += 1;
            stats.retries += i64::from(matches!(attempt.outcome, Some(Outcome::Retried | Outcome::Lost)));
            if let (Some(started), Some(ended)) = (attempt.started_at, attempt.ended_at) {
                timed += 1;
                total_ms += ended - started;
            }
            if let Some((class, _)) = &attempt.error {
                *stats.errors_by_class.entry(class.to_string()).or_default() += 1;
            }
        }
        stats.mean_duration_ms = (timed > 0).then(|| total_ms as f64 / timed as f64);
        stats
    }

    pub fn diagnose(&self, id: RunId, now: Time) -> Result<RunDiagnosis> {
        let run = self.run(id)?;
        let ahead = self.runs.values().filter(|other| {
            other.id != id && other.awaits_coordinator(now) && (other.rank, other.id) < (run.rank, run.id)
        });
        let delayed: Vec<Time> =
            self.queued_between(id, 0, run.stage.wave).map(|(due, _)| due).filter(|due| *due > now).collect();
        let blocked = self.blocked.iter().filter(|(_, r, _)| *r == id);
        let leased: Vec<AttemptId> = self.leased_in(id).collect();
        let expired = leased.iter().filter(|id| self.attempts[id].attempt.due_at <= now).count();
        let mut errors: BTreeMap<String, i64> = BTreeMap::new();
        for attempt in self.attempts.values().map(|row| &row.attempt).filter(|a| a.run == id) {
            if let Some((class, _)) = &attempt.error {
                *errors.entry(class.to_string()).or_default() += 1;
            }
        }
        Ok(RunDiagnosis {
            run: id,
            state: run.state,
            reason: run.reason.clone(),
            spent: run.limits.exhausted_by(&run.spent),
            counters: run.counters,
            planned: run.planned,
            region: run.region.clone(),
            concurrency: run.limits.concurrency,
            coordinator: run.coordinator,
            coordinator_until: run.coordinator_until,
            ahead: ahead.count() as i64,
            beside: self.at_work(now).get(&self.jobs[&run.job].job.workspace).map_or(0, |n| *n as i64),
            ready: self.queued_between(id, 0, run.stage.wave).filter(|(due, _)| *due <= now).count() as i64,
            holdup: run.position().holdup(now),
            gated: self.queued_between(id, run.stage.wave + 1, i64::MAX).count() as i64,
            delayed: delayed.len() as i64,
            next_due_at: delayed.iter().min().copied(),
            blocked: blocked.clone().count() as i64,
            blocked_on: blocked.min_by_key(|(_, _, id)| *id).map(|(resource, _, _)| resource.clone()),
            leased: leased.len() as i64,
            expired: expired as i64,
            waits: self.waits_of(id),
            logged: self.logged_in(id).count() as i64,
            commonest_error: errors.into_iter().rev().max_by_key(|(_, n)| *n),
        })
    }
}
