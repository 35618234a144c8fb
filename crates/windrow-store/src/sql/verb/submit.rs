//! Submit: job, frozen definition and run in one go. A job that is live refuses a second run; an
//! idempotency key seen before gets its first answer again.

use windrow_model::counters::JobCounters;
use windrow_model::record::{Job, LogLevel};
use windrow_model::state::{JOB, JobEvent, JobState, Mode, RunState};
use windrow_model::store::{NewLog, StoreError, Submission, Submitted};
use windrow_model::{JobId, Json, RunId, Time, event};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, OptionalExtension, Sql, named_params, params};
use crate::sql::lock;
use crate::sql::table::{jobs, journal, runs};

pub(crate) const SUBMITTED_BEFORE: &str = "SELECT job_id, id FROM runs WHERE workspace = ?1 AND idempotency_key = ?2";

pub(crate) static KEEP_SPEC: Sql =
    Sql::new(|d| format!("INSERT INTO specs (hash, body) VALUES (?1, ?2){}", d.or_ignore("hash")));

pub(crate) fn submit(tx: &Connection, s: &Submission, now: Time) -> Result<Submitted> {
    if let Some(first) = submitted_before(tx, s)? {
        return Ok(first);
    }
    let find = || Ok(jobs::find_job(tx, &s.workspace, &s.name)?.into_iter().collect());
    let (job, no) = match lock::lock_and_recheck(tx, "jobs", find, |job: &Job| job.id.0)?.pop() {
        Some(job) => (job.id, restart_job(tx, job, s, now)?),
        None => (start_job(tx, s, now)?, 1),
    };
    tx.prepare_cached(&KEEP_SPEC)?.execute(params![s.spec_hash, s.spec.as_str()])?;
    insert_run(tx, job, no, s, now)?;
    journal::emit(tx, job, s.run, event::RUN_SUBMITTED, &event::submitted(no, s.mode, &s.actor), now)?;
    let message = format!("run {no} submitted ({})", s.mode);
    let (level, event) = (LogLevel::Info, "submitted".to_owned());
    journal::log(
        tx,
        &NewLog { job, run: Some(s.run), item: None, level, event, actor: s.actor.clone(), message },
        now,
    )?;
    Ok(Submitted { job, run: s.run, existing: false })
}

fn submitted_before(tx: &Connection, s: &Submission) -> Result<Option<Submitted>> {
    let Some(key) = &s.idempotency_key else { return Ok(None) };
    let first = |row: &backend::Row| Ok(Submitted { job: JobId(row.get(0)?), run: RunId(row.get(1)?), existing: true });
    Ok(tx.prepare_cached(SUBMITTED_BEFORE)?.query_row(params![s.workspace, key], first).optional()?)
}

fn start_job(tx: &Connection, s: &Submission, now: Time) -> Result<JobId> {
    if matches!(s.mode, Mode::FailRetry | Mode::Rescore | Mode::Rollback) {
        return Err(StoreError::NotFound { what: "job", id: s.name.clone() }.into());
    }
    let state = JOB.next(JobState::Idle, JobEvent::Start)?;
    let mut stmt = tx.prepare_cached(
        "INSERT INTO jobs (id, workspace, name, kind, state, labels, latest_run, schedule, created_at, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?8, ?8)",
    )?;
    let labels = Json::of(&s.labels);
    stmt.execute(params![
        s.job.0,
        s.workspace,
        s.name,
        s.kind,
        state.as_str(),
        labels.as_str(),
        s.run.0,
        now.0,
        s.schedule
    ])?;
    Ok(s.job)
}

/// The job goes live again; returns the number of its next run.
fn restart_job(tx: &Connection, job: Job, s: &Submission, now: Time) -> Result<i64> {
    if job.kind != s.kind {
        let (name, given) = (s.name.clone(), s.kind.clone());
        return Err(StoreError::KindChanged { name, existing: job.kind, given }.into());
    }
    let Ok(state) = JOB.next(job.state, JobEvent::Start) else {
        return Err(StoreError::RunningExisted { name: s.name.clone(), run: job.latest_run }.into());
    };
    let mut stmt = tx.prepare_cached(
        "UPDATE jobs SET state = ?3, labels = ?4, latest_run = ?5, updated_at = ?6, next_at = NULL, \
         schedule = coalesce(?7, schedule) WHERE id = ?1 AND state = ?2",
    )?;
    let labels = Json::of(&s.labels);
    let changed = stmt.execute(params![
        job.id.0,
        job.state.as_str(),
        state.as_str(),
        labels.as_str(),
        s.run.0,
        now.0,
        s.schedule
    ])?;
    expect_rows(changed, 1, "state of a job")?;
    // The items of the run before belong to an earlier run from now on.
    let before = runs::run(tx, job.latest_run)?;
    let mut left = JobCounters::default();
    left.add(before.mode, before.counters);
    jobs::move_rest(tx, job.id, &left)?;
    let mut stmt = tx.prepare_cached("SELECT coalesce(max(no), 0) + 1 FROM runs WHERE job_id = ?1")?;
    Ok(stmt.query_row([job.id.0], |row| row.get(0))?)
}

fn insert_run(tx: &Connection, job: JobId, no: i64, s: &Submission, now: Time) -> Result<()> {
    let mut stmt = tx.prepare_cached(
        "INSERT INTO runs (id, job_id, workspace, no, mode, state, spec_hash, priority, rank, region, concurrency, \
         max_losses, max_tokens, max_cost_nanos, max_failed, keep_going, rollout, fresh, selection, planned, idempotency_key, \
         created_at) VALUES (:id, :job, :workspace, :no, :mode, :state, :spec, :priority, :rank, :region, \
         :concurrency, :max_losses, :max_tokens, :max_cost, :max_failed, :keep_going, :rollout, :fresh, :selection, :planned, :key, :now)",
    )?;
    stmt.execute(named_params! {
        ":id": s.run.0, ":job": job.0, ":workspace": s.workspace, ":no": no, ":mode": s.mode.as_str(),
        ":state": if s.paused { RunState::Paused } else { RunState::Pending }.as_str(), ":spec": s.spec_hash, ":priority": s.priority.get(),
        ":rank": s.priority.rank(now), ":region": s.labels.region, ":concurrency": s.limits.concurrency,
        ":max_losses": s.limits.max_losses, ":max_tokens": s.limits.max_tokens,
        ":max_cost": s.limits.max_cost_nanos, ":max_failed": s.limits.max_failed,
        ":keep_going": s.limits.keep_going,
        ":rollout": s.rollout.as_ref().map(Json::of).as_ref().map(|rollout| rollout.as_str()),
        ":selection": s.selection.as_ref().map(Json::of).as_ref().map(|selection| selection.as_str()), ":fresh": s.fresh, ":planned": false,
        ":key": s.idempotency_key, ":now": now.0,
    })?;
    Ok(())
}
