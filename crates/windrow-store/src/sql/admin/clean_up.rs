//! Clean up: jobs that ended long enough ago disappear with everything they had, a bounded number of
//! items at a time, so that no transaction grows with the job.

use std::collections::BTreeSet;

use windrow_model::state::{JobState, RunState};
use windrow_model::store::Retention;
use windrow_model::{AttemptId, ItemId, JobId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, params};
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
const EMPTY: &str =
    "SELECT j.id FROM jobs j WHERE j.id = ?1 AND NOT EXISTS (SELECT 1 FROM items i WHERE i.job_id = j.id)";

pub(crate) fn clean_up(tx: &Connection, retention: Retention, limit: usize, now: Time) -> Result<i64> {
    let doomed = doomed(tx, retention, now)?;
    let mut items = Vec::new();
    for job in &doomed {
        if items.len() < limit {
            items.extend(ids(tx, ITEMS, params![job.0, (limit - items.len()) as i64])?);
        }
    }
    delete_items(tx, &items)?;
    let mut empty = Vec::new();
    tx.query_many(EMPTY, &rows_of(&doomed), |n, _| {
        empty.push(doomed[n]);
        Ok(())
    })?;
    delete_jobs(tx, &empty)?;
    Ok((items.len() + empty.len()) as i64)
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

/// Deletes items with their rows in other tables. Items planned together have consecutive ids, and so have their
/// attempts and steps: a page is a few ranges of keys.
pub(crate) fn delete_items(tx: &Connection, ids: &[i64]) -> Result<()> {
    let ranges = ids.chunk_by(|one, next| one + 1 == *next).map(|range| (range[0], range[range.len() - 1]));
    let items: Vec<[i64; 2]> = ranges.map(|(first, last)| [first, last]).collect();
    let attempts: Vec<[i64; 2]> =
        items.iter().map(|[first, last]| [ItemId(*first).attempts().0.0, ItemId(*last).attempts().1.0]).collect();
    let steps = attempts.iter().map(|[first, last]| [AttemptId(*first).first_step().0, AttemptId(*last).last_step().0]);
    let steps: Vec<[i64; 2]> = steps.collect();
    for (sql, ranges) in [
        ("DELETE FROM shared_steps WHERE step_id BETWEEN ?1 AND ?2", &steps),
        ("DELETE FROM steps WHERE id BETWEEN ?1 AND ?2", &steps),
        ("DELETE FROM scores WHERE attempt_id BETWEEN ?1 AND ?2", &attempts),
        ("DELETE FROM attempts WHERE id BETWEEN ?1 AND ?2", &attempts),
        ("DELETE FROM inputs WHERE item_id BETWEEN ?1 AND ?2", &items),
        ("DELETE FROM items WHERE id BETWEEN ?1 AND ?2", &items),
    ] {
        tx.execute_many(sql, &ranges.iter().map(|range| range.map(Cell::Int)).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn delete_jobs(tx: &Connection, jobs: &[JobId]) -> Result<()> {
    delete_rows(tx, jobs)?;
    for sql in ["DELETE FROM log WHERE job_id = ?1", "DELETE FROM outbox WHERE job_id = ?1"] {
        tx.execute_many(sql, &rows_of(jobs))?;
    }
    Ok(())
}

/// The jobs, their runs, and definitions that no other run has.
pub(crate) fn delete_rows(tx: &Connection, jobs: &[JobId]) -> Result<()> {
    let (jobs, mut specs) = (rows_of(jobs), BTreeSet::<String>::new());
    tx.query_many("SELECT spec_hash FROM runs WHERE job_id = ?1", &jobs, |_, row| {
        specs.insert(row.get(0)?);
        Ok(())
    })?;
    for sql in ["DELETE FROM runs WHERE job_id = ?1", "DELETE FROM jobs WHERE id = ?1"] {
        tx.execute_many(sql, &jobs)?;
    }
    let unused = "DELETE FROM specs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE spec_hash = ?1)";
    tx.execute_many(unused, &specs.iter().map(|hash| [Cell::Text(hash)]).collect::<Vec<_>>())?;
    Ok(())
}

fn rows_of(jobs: &[JobId]) -> Vec<[Cell<'static>; 1]> {
    jobs.iter().map(|job| [Cell::Int(job.0)]).collect()
}
