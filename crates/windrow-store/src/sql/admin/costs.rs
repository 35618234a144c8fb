//! What the runs of a workspace cost (E4). Deleting a job keeps the cost of its runs.

use std::collections::BTreeMap;

use windrow_model::JobId;

use crate::backend::failure::Result;
use crate::backend::{Cell, Connection, Lookup, Sql, params};

pub(crate) static OF_RUNS: Lookup =
    Lookup::new("workspace, spent_cost_nanos", "runs", "job_id = ?1 AND spent_cost_nanos > 0", "");
pub(crate) static BEGIN: Sql = Sql::new(|d| {
    format!("INSERT INTO costs_of_deleted (workspace, cost_nanos) VALUES (?1, 0){}", d.or_ignore("workspace"))
});
pub(crate) static OF_WORKSPACE: Sql = Sql::new(|d| {
    let live = d.int("coalesce(sum(spent_cost_nanos), 0)");
    let deleted = d.int("coalesce(sum(cost_nanos), 0)");
    format!(
        "SELECT (SELECT {live} FROM runs WHERE workspace = ?1) \
         + (SELECT {deleted} FROM costs_of_deleted WHERE workspace = ?1)"
    )
});

pub(crate) fn of_workspace(conn: &Connection, workspace: &str) -> Result<i64> {
    Ok(conn.prepare_cached(&OF_WORKSPACE)?.query_row([workspace], |row| row.get(0))?)
}

/// Before the runs of these jobs are deleted.
pub(crate) fn keep(tx: &Connection, jobs: &[JobId]) -> Result<()> {
    let rows: Vec<[Cell; 1]> = jobs.iter().map(|job| [Cell::Int(job.0)]).collect();
    let mut costs = BTreeMap::<String, i64>::new();
    tx.query_many(&OF_RUNS, &rows, |_, row| {
        *costs.entry(row.get(0)?).or_default() += row.get::<i64>(1)?;
        Ok(())
    })?;
    for (workspace, cost) in costs {
        tx.prepare_cached(&BEGIN)?.execute([workspace.as_str()])?;
        let sql = "UPDATE costs_of_deleted SET cost_nanos = cost_nanos + ?2 WHERE workspace = ?1";
        tx.prepare_cached(sql)?.execute(params![workspace, cost])?;
    }
    Ok(())
}
