//! Clean up: jobs that ended long enough ago disappear with everything they had, a bounded number of
//! items at a time, so that no transaction grows with the job.

use windrow_model::state::{JobState, RunState};
use windrow_model::store::Retention;
use windrow_model::{ItemId, JobId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, params};
use crate::sql::codes::Sql;
use crate::sql::lock;

static DOOMED: Sql = Sql::new(|| {
    format!(
        "SELECT j.id FROM jobs j CROSS JOIN runs r ON r.id = j.latest_run
         WHERE j.state = '{}' AND r.ended_at + CASE WHEN r.state = '{}' AND r.failed = 0 THEN CAST(?1 AS BIGINT) ELSE CAST(?2 AS BIGINT) END <= ?3
         ORDER BY j.id",
        JobState::Idle,
        RunState::Completed
    )
});
pub(crate) const ITEMS: &str = "SELECT id FROM items WHERE job_id = ?1 ORDER BY id LIMIT ?2";

pub(crate) fn clean_up(tx: &Connection, retention: Retention, limit: usize, now: Time) -> Result<i64> {
    let mut items_left = limit;
    let mut deleted = 0;
    for job in doomed(tx, retention, now)? {
        let page = ids(tx, ITEMS, params![job.0, items_left as i64])?;
        for item in &page {
            delete_item(tx, ItemId(*item))?;
        }
        items_left -= page.len();
        deleted += page.len() as i64;
        if ids(tx, ITEMS, params![job.0, 1])?.is_empty() {
            delete_job(tx, job)?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

fn doomed(tx: &Connection, retention: Retention, now: Time) -> Result<Vec<JobId>> {
    let kept = params![retention.completed_ms, retention.failed_ms, now.0];
    let read = || Ok(ids(tx, &DOOMED, kept)?.into_iter().map(JobId).collect());
    lock::steady(tx, "jobs", read, |job| job.0)
}

pub(crate) fn ids(tx: &Connection, sql: &str, params: impl backend::Params) -> Result<Vec<i64>> {
    let mut stmt = tx.prepare_cached(sql)?;
    let found = stmt.query_map(params, |row| row.get(0))?.collect::<backend::Result<_>>()?;
    Ok(found)
}

pub(crate) fn delete_item(tx: &Connection, item: ItemId) -> Result<()> {
    let (first, last) = item.attempts();
    let delete = |sql: &str, from: i64, to: i64| tx.prepare_cached(sql)?.execute([from, to]);
    delete("DELETE FROM shared_steps WHERE step_id BETWEEN ?1 AND ?2", first.first_step().0, last.last_step().0)?;
    delete("DELETE FROM steps WHERE id BETWEEN ?1 AND ?2", first.first_step().0, last.last_step().0)?;
    delete("DELETE FROM scores WHERE attempt_id BETWEEN ?1 AND ?2", first.0, last.0)?;
    delete("DELETE FROM attempts WHERE id BETWEEN ?1 AND ?2", first.0, last.0)?;
    delete("DELETE FROM inputs WHERE item_id BETWEEN ?1 AND ?2", item.0, item.0)?;
    delete("DELETE FROM items WHERE id BETWEEN ?1 AND ?2", item.0, item.0)?;
    Ok(())
}

fn delete_job(tx: &Connection, job: JobId) -> Result<()> {
    delete_rows(tx, job)?;
    for sql in ["DELETE FROM log WHERE job_id = ?1", "DELETE FROM outbox WHERE job_id = ?1"] {
        tx.prepare_cached(sql)?.execute([job.0])?;
    }
    Ok(())
}

/// The job, its runs, and definitions that no other run has.
pub(crate) fn delete_rows(tx: &Connection, job: JobId) -> Result<()> {
    let mut stmt = tx.prepare_cached("SELECT DISTINCT spec_hash FROM runs WHERE job_id = ?1")?;
    let specs: Vec<String> = stmt.query_map([job.0], |row| row.get(0))?.collect::<backend::Result<_>>()?;
    for sql in ["DELETE FROM runs WHERE job_id = ?1", "DELETE FROM jobs WHERE id = ?1"] {
        tx.prepare_cached(sql)?.execute([job.0])?;
    }
    let unused = "DELETE FROM specs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE spec_hash = ?1)";
    for hash in specs {
        tx.prepare_cached(unused)?.execute([hash])?;
    }
    Ok(())
}
