//! Stats: how the work of one job, of a workspace, or of all has gone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use windrow_model::ErrorClass;
use windrow_model::aggregate::Stats;
use windrow_model::state::{ItemState, Outcome};
use windrow_model::store::Extent;

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Dialect, Value, params_from_iter};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::read::recount::tries_of_item;

pub(crate) fn stats(conn: &Connection, extent: &Extent) -> Result<Stats> {
    let whose = match extent {
        Extent::All => Vec::new(),
        Extent::Workspace(workspace) => vec![Value::Text(workspace.clone())],
        Extent::Job(job) => vec![Value::Integer(job.0)],
    };
    let sql = Statements::of(conn.dialect(), extent);
    let jobs = conn.prepare_cached(&sql.jobs)?.query_row(params_from_iter(&whose), |row| row.get(0))?;
    let runs_by_state = tally(conn, &sql.runs, &whose, |c| c.get())?;
    let items_by_state = tally(conn, &sql.items, &whose, |c| c.coded().map(|state: ItemState| state.to_string()))?;
    let errors_by_class = tally(conn, &sql.errors, &whose, |c| c.coded().map(|class: ErrorClass| class.to_string()))?;
    let (attempts, retries, timed, total_ms) =
        conn.prepare_cached(&sql.attempts)?.query_row(params_from_iter(&whose), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<i64>(2)?, row.get::<i64>(3)?))
        })?;
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
    whose: &[Value],
    word: fn(&mut Cells) -> backend::Result<String>,
) -> Result<BTreeMap<String, i64>> {
    let mut counts = BTreeMap::new();
    let mut stmt = conn.prepare_cached(sql)?;
    stmt.walk(params_from_iter(whose), |row| {
        *counts.entry(word(&mut Cells::of(row))?).or_default() += 1;
        Ok::<_, backend::Error>(ControlFlow::Continue(()))
    })?;
    Ok(counts)
}

struct Statements {
    jobs: String,
    runs: String,
    items: String,
    errors: String,
    attempts: String,
}

impl Statements {
    /// What is not asked for all is reached through the jobs or runs it belongs to: the index of errors is
    /// by run, and a try is found by its item.
    fn of(d: Dialect, extent: &Extent) -> Self {
        let tries = d.each_by_key("attempts", "a", &tries_of_item());
        let failed = d.each("attempts", "a", "a.run_id = r.id AND a.error_class IS NOT NULL");
        let (jobs, runs, items, errors, attempts) = match extent {
            Extent::All => (
                "1 = 1",
                "1 = 1",
                "items i".to_owned(),
                "attempts a WHERE a.error_class IS NOT NULL".to_owned(),
                "attempts a".to_owned(),
            ),
            Extent::Workspace(_) => {
                let items = format!("jobs j {}", d.each("items", "i", "i.job_id = j.id"));
                (
                    "workspace = ?1",
                    "workspace = ?1",
                    format!("{items} WHERE j.workspace = ?1"),
                    format!("runs r {failed} WHERE r.workspace = ?1"),
                    format!("{items} {tries} WHERE j.workspace = ?1"),
                )
            }
            Extent::Job(_) => (
                "id = ?1",
                "job_id = ?1",
                "items i WHERE i.job_id = ?1".to_owned(),
                format!("runs r {failed} WHERE r.job_id = ?1"),
                format!("items i {tries} WHERE i.job_id = ?1"),
            ),
        };
        let retried = format!("a.outcome IN ({}, {})", code(Outcome::Retried), code(Outcome::Lost));
        Self {
            jobs: format!("SELECT count(*) FROM jobs WHERE {jobs}"),
            runs: format!("SELECT state FROM runs WHERE {runs}"),
            items: format!("SELECT i.state FROM {items}"),
            errors: format!("SELECT a.error_class FROM {errors}"),
            attempts: format!(
                "SELECT count(*), count(CASE WHEN {retried} THEN 1 END), count(a.ended_at - a.started_at), \
                 coalesce(sum(a.ended_at - a.started_at), 0) FROM {attempts}"
            ),
        }
    }
}

#[cfg(test)]
pub(crate) fn statements(d: Dialect, extent: &Extent) -> [String; 5] {
    let Statements { jobs, runs, items, errors, attempts } = Statements::of(d, extent);
    [jobs, runs, items, errors, attempts]
}

/// The most frequent of a tally; of equals, the first by name.
pub(crate) fn commonest(counts: BTreeMap<String, i64>) -> Option<(String, i64)> {
    counts.into_iter().rev().max_by_key(|(_, n)| *n)
}

/// Errors of one run, by class.
pub(crate) fn errors_of_run(conn: &Connection, run: i64) -> Result<BTreeMap<String, i64>> {
    let sql = "SELECT error_class FROM attempts WHERE run_id = ?1 AND error_class IS NOT NULL";
    tally(conn, sql, &[Value::Integer(run)], |c| c.coded().map(|class: ErrorClass| class.to_string()))
}
