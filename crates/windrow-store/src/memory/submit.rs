use windrow_model::counters::{Counters, JobCounters};
use windrow_model::record::{Job, LogLevel, Run, Schedule};
use windrow_model::rollout::Stage;
use windrow_model::state::{JOB, JobEvent, JobState, Mode, RunState};
use windrow_model::step::Usage;
use windrow_model::store::{NewLog, Result, StoreError, Submission, Submitted};
use windrow_model::{Time, event};

use super::world::{JobRow, World};

impl World {
    pub fn submit(&mut self, s: Submission, now: Time) -> Result<Submitted> {
        if let Some(first) = self.submitted_before(&s) {
            return Ok(first);
        }
        let known = self.jobs.values().find(|row| row.job.workspace == s.workspace && row.job.name == s.name);
        let (job, no) = match known {
            None if matches!(s.mode, Mode::FailRetry | Mode::Rescore | Mode::Rollback) => {
                return Err(StoreError::NotFound { what: "job", id: s.name });
            }
            None => (s.job, 1),
            Some(row) if row.job.kind != s.kind => {
                return Err(StoreError::KindChanged { name: s.name, existing: row.job.kind.clone(), given: s.kind });
            }
            Some(row) if JOB.next(row.job.state, JobEvent::Start).is_err() => {
                return Err(StoreError::RunningExisted { name: s.name, run: row.job.latest_run });
            }
            Some(row) => (row.job.id, self.runs_of(row.job.id).last().map_or(1, |run| run.no + 1)),
        };
        let row = self.jobs.entry(job).or_insert_with(|| JobRow { job: new_job(&s, now), next_ordinal: 0 });
        row.job.state = JobState::Live;
        row.job.labels = s.labels.clone();
        row.job.latest_run = s.run;
        row.job.updated_at = now;
        let cron = s.schedule.or_else(|| row.job.schedule.take().map(|schedule| schedule.cron));
        row.job.schedule = cron.map(|cron| Schedule { cron, next_at: None });
        self.specs.entry(s.spec_hash.clone()).or_insert_with(|| s.spec.clone());
        let run = Run {
            id: s.run,
            job,
            no,
            mode: s.mode,
            state: if s.paused { RunState::Paused } else { RunState::Pending },
            spec_hash: s.spec_hash,
            priority: s.priority,
            rank: s.priority.rank(now),
            region: s.labels.region,
            limits: s.limits,
            rollout: s.rollout,
            stage: Stage::default(),
            fresh: s.fresh,
            selection: s.selection,
            spent: Usage::default(),
            cursor: None,
            planned: false,
            counters: Counters::default(),
            epoch: 0,
            coordinator: None,
            coordinator_until: Time(0),
            idempotency_key: s.idempotency_key,
            created_at: now,
            started_at: None,
            ended_at: None,
            cancelled_at: None,
            moved_at: now,
            reason: None,
            summary: None,
        };
        self.runs.insert(run.id, run);
        self.emit(s.run, event::RUN_SUBMITTED, event::submitted(no, s.mode, &s.actor), now);
        let message = format!("run {no} submitted ({})", s.mode);
        let log = NewLog {
            job,
            run: Some(s.run),
            item: None,
            level: LogLevel::Info,
            event: "submitted".into(),
            actor: s.actor,
            message,
        };
        self.log(log, now);
        Ok(Submitted { job, run: s.run, existing: false })
    }

    fn submitted_before(&self, s: &Submission) -> Option<Submitted> {
        let key = s.idempotency_key.as_ref()?;
        let same =
            |run: &&Run| run.idempotency_key.as_ref() == Some(key) && self.jobs[&run.job].job.workspace == s.workspace;
        let run: &Run = self.runs.values().find(same)?;
        Some(Submitted { job: run.job, run: run.id, existing: true })
    }

    pub fn runs_of(&self, job: windrow_model::JobId) -> Vec<Run> {
        let mut runs: Vec<Run> = self.runs.values().filter(|run| run.job == job).cloned().collect();
        runs.sort_by_key(|run| run.no);
        runs
    }
}

fn new_job(s: &Submission, now: Time) -> Job {
    Job {
        id: s.job,
        workspace: s.workspace.clone(),
        name: s.name.clone(),
        kind: s.kind.clone(),
        state: JobState::Idle,
        labels: s.labels.clone(),
        latest_run: s.run,
        counters: JobCounters::default(),
        schedule: None,
        pinned_at: None,
        created_at: now,
        updated_at: now,
    }
}
