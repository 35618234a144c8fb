//! Stats: how the work of one job, or of all, has gone.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use windrow_model::aggregate::Stats;
use windrow_model::state::{ItemState, Outcome};
use windrow_model::{ErrorClass, JobId};

use super::cells::Cells;
use super::codes::code;
use super::fault::Result;
use super::recount::tries_of_item;

pub(super) fn stats(conn: &Connection, job: Option<JobId>) -> Result<Stats> {
    let id = job.map(|job| job.0);
    let of_job = |column: &str| if job.is_some() { format!("WHERE {column} = ?1") } else { "WHERE ?1 IS NULL".into() };
    let jobs = conn
        .prepare_cached(&format!("SELECT count(*) FROM jobs {}", of_job("id")))?
        .query_row([id], |row| row.get(0))?;
    let runs_by_state = tally(conn, &format!("SELECT state FROM runs {}", of_job("job_id")), id, |c| c.get())?;
    let items_by_state = tally(conn, &format!("SELECT state FROM items {}", of_job("job_id")), id, |c| {
        c.coded().map(|state: ItemState| state.to_string())
    })?;
    let errors_by_class =
        tally(conn, &errors_sql(job.is_some()), id, |c| c.coded().map(|class: ErrorClass| class.to_string()))?;
    let (attempts, retries, timed, total_ms) = conn
        .prepare_cached(&attempts_sql(job.is_some()))?
        .query_row(params![id], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?)))?;
    Ok(Stats {
        jobs,
        runs: runs_by_state.values().sum(),
        runs_by_state,
        items: items_by_state.values().sum(),
        items_by_state,
        attempts,
        retries,
        mean_duration_ms: (timed > 0).then(|| total_ms as f64 / timed as f64),
        errors_by_class,
    })
}

/// Counts rows by their only cell; a sort of a million rows in SQL would cost more than this walk.
fn tally(
    conn: &Connection,
    sql: &str,
    job: Option<i64>,
    word: fn(&mut Cells) -> rusqlite::Result<String>,
) -> Result<BTreeMap<String, i64>> {
    let mut counts = BTreeMap::new();
    let mut stmt = conn.prepare_cached(sql)?;
    let mut rows = stmt.query([job])?;
    while let Some(row) = rows.next()? {
        *counts.entry(word(&mut Cells::of(row))?).or_default() += 1;
    }
    Ok(counts)
}

/// The index of errors is by run, so a job's are found through its runs.
fn errors_sql(one_job: bool) -> String {
    if one_job {
        "SELECT a.error_class FROM runs r CROSS JOIN attempts a ON a.run_id = r.id AND a.error_class IS NOT NULL \
         WHERE r.job_id = ?1"
            .into()
    } else {
        "SELECT a.error_class FROM attempts a WHERE ?1 IS NULL AND a.error_class IS NOT NULL".into()
    }
}

fn attempts_sql(one_job: bool) -> String {
    let retried = format!("a.outcome IN ({}, {})", code(Outcome::Retried), code(Outcome::Lost));
    let from = if one_job {
        format!("items i CROSS JOIN attempts a ON {} WHERE i.job_id = ?1", tries_of_item())
    } else {
        "attempts a WHERE ?1 IS NULL".into()
    };
    format!(
        "SELECT count(*), count(*) FILTER (WHERE {retried}), count(a.ended_at - a.started_at), \
         coalesce(sum(a.ended_at - a.started_at), 0) FROM {from}"
    )
}

/// The commonest of a tally; of equals, the first by name.
pub(super) fn commonest(counts: BTreeMap<String, i64>) -> Option<(String, i64)> {
    counts.into_iter().rev().max_by_key(|(_, n)| *n)
}

/// Errors of one run, by class.
pub(super) fn errors_of_run(conn: &Connection, run: i64) -> Result<BTreeMap<String, i64>> {
    let sql = "SELECT error_class FROM attempts WHERE run_id = ?1 AND error_class IS NOT NULL";
    tally(conn, sql, Some(run), |c| c.coded().map(|class: ErrorClass| class.to_string()))
}
