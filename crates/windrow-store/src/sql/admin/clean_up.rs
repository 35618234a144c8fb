//! Clean up: jobs that ended long enough ago are deleted, as a person would delete them.

use std::collections::BTreeSet;

use windrow_model::state::{JobState, RunState};
use windrow_model::store::Retention;
use windrow_model::{AttemptId, ItemId, JobId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Change, Connection, Lookup, NewRows, Sql, Text, params};
use crate::sql::admin::costs;
use crate::sql::lock;
use crate::sql::table::analytics_marks;

pub(crate) static DOOMED: Sql = Sql::new(|d| {
    format!(
        "SELECT j.id FROM jobs j {}
         WHERE j.state = '{}' AND j.schedule IS NULL AND NOT EXISTS (SELECT 1 FROM pins p WHERE p.job_id = j.id)
           AND r.ended_at + CASE WHEN r.state = '{}' AND r.failed = 0 THEN {} ELSE {} END <= ?3
         ORDER BY j.id",
        d.each_by_key("runs", "r", "r.id = j.latest_run"),
        JobState::Idle,
        RunState::Completed,
        d.int("?1"),
        d.int("?2")
    )
});
pub(crate) const ITEMS: &str = "SELECT id FROM items WHERE job_id = ?1 ORDER BY id LIMIT ?2";
pub(crate) static SPECS: Lookup = Lookup::new("spec_hash", "runs", "job_id = ?1", "");
/// Of a page of items; steps, attempts and items are ranges of keys.
pub(crate) static SHARED_STEPS: Change = Change::delete_where("shared_steps", "step_id BETWEEN ?1 AND ?2");
pub(crate) static STEPS: Change = Change::delete("steps", "id BETWEEN ?1 AND ?2");
pub(crate) static SCORES: Change = Change::delete("scores", "attempt_id BETWEEN ?1 AND ?2");
pub(crate) static ATTEMPTS: Change = Change::delete("attempts", "id BETWEEN ?1 AND ?2");
pub(crate) static INPUTS: Change = Change::delete("inputs", "item_id BETWEEN ?1 AND ?2");
pub(crate) static ITEM_ROWS: Change = Change::delete("items", "id BETWEEN ?1 AND ?2");
pub(crate) static LABELS: Change = Change::delete_where("labels", "item_id BETWEEN ?1 AND ?2");
pub(crate) static RUNS: Change = Change::delete_where("runs", "job_id = ?1");
pub(crate) static JOBS: Change = Change::delete("jobs", "id = ?1");
pub(crate) static PINS: Change = Change::delete_where("pins", "job_id = ?1");
pub(crate) static DOOM: NewRows = NewRows::new("doomed_jobs", "job_id", "?1");
pub(crate) static UNUSED_SPECS: Change =
    Change::delete("specs", "hash = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE spec_hash = ?1)");

/// Returns how many. Their rows are left to `sweep_jobs`.
pub(crate) fn clean_up(tx: &Connection, retention: Retention, now: Time) -> Result<i64> {
    let doomed = doomed(tx, retention, now)?;
    doom(tx, &doomed)?;
    Ok(doomed.len() as i64)
}

/// Out of sight at once, so that nobody sees half a job; their rows are swept away later.
pub(crate) fn doom(tx: &Connection, jobs: &[JobId]) -> Result<()> {
    costs::keep(tx, jobs)?;
    delete_rows(tx, jobs)?;
    tx.execute_many(&DOOM, &rows_of(jobs))?;
    analytics_marks::mark(tx, jobs.iter().map(|job| (*job, None)))
}

fn doomed(tx: &Connection, retention: Retention, now: Time) -> Result<Vec<JobId>> {
    let kept = params![retention.completed_ms, retention.failed_ms, now.0];
    let read = || Ok(ids(tx, &DOOMED, kept)?.into_iter().map(JobId).collect());
    lock::lock_and_recheck(tx, "jobs", read, |job| job.0)
}

pub(crate) fn ids(tx: &Connection, sql: &(impl Text + ?Sized), params: impl backend::Params) -> Result<Vec<i64>> {
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
    for (change, ranges) in [
        (&SHARED_STEPS, &steps),
        (&STEPS, &steps),
        (&SCORES, &attempts),
        (&ATTEMPTS, &attempts),
        (&INPUTS, &items),
        (&LABELS, &items),
        (&ITEM_ROWS, &items),
    ] {
        tx.execute_many(change, &ranges.iter().map(|range| range.map(Cell::Int)).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The jobs, their runs, and definitions that no other run has.
fn delete_rows(tx: &Connection, jobs: &[JobId]) -> Result<()> {
    let (jobs, mut specs) = (rows_of(jobs), BTreeSet::<String>::new());
    tx.query_many(&SPECS, &jobs, |_, row| {
        specs.insert(row.get(0)?);
        Ok(())
    })?;
    for change in [&RUNS, &JOBS, &PINS] {
        tx.execute_many(change, &jobs)?;
    }
    tx.execute_many(&UNUSED_SPECS, &specs.iter().map(|hash| [Cell::Text(hash)]).collect::<Vec<_>>())?;
    Ok(())
}

fn rows_of(jobs: &[JobId]) -> Vec<[Cell<'static>; 1]> {
    jobs.iter().map(|job| [Cell::Int(job.0)]).collect()
}
