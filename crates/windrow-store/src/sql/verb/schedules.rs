//! Schedules of jobs: when, and which are due; and jobs that are pinned.

use windrow_model::record::{Job, LogLevel, Schedule};
use windrow_model::state::JobState;
use windrow_model::store::NewLog;
use windrow_model::{JobId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::table::{jobs, journal};

pub(crate) static DUE: Sql = Sql::new(|d| {
    format!(
        "SELECT {} FROM {} WHERE j.next_at <= ?1 AND j.state = '{}' ORDER BY j.next_at LIMIT ?2",
        jobs::COLUMNS,
        jobs::with_latest_run(d),
        JobState::Idle
    )
});

pub(crate) fn due_jobs(conn: &Connection, limit: usize, now: Time) -> Result<Vec<Job>> {
    let mut stmt = conn.prepare_cached(&DUE)?;
    let found = stmt.query_map(params![now.0, limit as i64], |row| jobs::from_cells(&mut Cells::of(row)))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn schedule(tx: &Connection, id: JobId, schedule: Option<Schedule>, actor: String, now: Time) -> Result<()> {
    tx.lock("jobs", [id.0])?;
    jobs::job(tx, id)?;
    let (cron, next_at) = schedule.map_or((None, None), |schedule| (Some(schedule.cron), schedule.next_at));
    let changed = tx
        .prepare_cached("UPDATE jobs SET schedule = ?2, next_at = ?3, updated_at = ?4 WHERE id = ?1")?
        .execute(params![id.0, cron, next_at.map(|at| at.0), now.0])?;
    expect_rows(changed, 1, "schedule of a job")?;
    let (event, message) = match cron {
        Some(cron) => ("scheduled", cron),
        None => ("unscheduled", String::new()),
    };
    log(tx, id, event, actor, message, now)
}

/// A job that is pinned already keeps its time.
pub(crate) fn pin(tx: &Connection, id: JobId, pinned: bool, actor: String, now: Time) -> Result<()> {
    tx.lock("jobs", [id.0])?;
    let job = jobs::job(tx, id)?;
    let event = match (job.pinned_at, pinned) {
        (None, true) => {
            let values = params![id.0, now.0];
            tx.prepare_cached("INSERT INTO pins (job_id, pinned_at) VALUES (?1, ?2)")?.execute(values)?;
            "pinned"
        }
        (Some(_), false) => {
            tx.prepare_cached("DELETE FROM pins WHERE job_id = ?1")?.execute([id.0])?;
            "unpinned"
        }
        _ => return Ok(()),
    };
    log(tx, id, event, actor, String::new(), now)
}

fn log(tx: &Connection, job: JobId, event: &str, actor: String, message: String, now: Time) -> Result<()> {
    let (level, event) = (LogLevel::Info, event.to_owned());
    journal::log(tx, &NewLog { job, run: None, item: None, level, event, actor, message }, now)
}
