//! Aggregates over a run's items: one walk over the snapshot and its scores, row by row. The tally
//! keeps sums, never items.

use std::ops::ControlFlow;

use windrow_model::aggregate::{Aggregates, Tally};
use windrow_model::state::ItemState;
use windrow_model::{ErrorClass, JobId, RunId};

use crate::backend::failure::Result;
use crate::backend::{Connection, Dialect, Row, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::table::runs;

/// An item that the run took on and has not redone still shows its earlier result, which is not this
/// run's: only results of the run's own attempts count.
fn walk(d: Dialect, condition: &str, order: &str) -> String {
    format!(
        "SELECT i.id, i.group_key, i.state, a.latency_ms, a.tokens_in, a.tokens_out, a.cost_nanos, i.error_class, \
         s.turn, s.name, s.verdict, s.value FROM items i {} \
         LEFT JOIN scores s ON s.attempt_id = a.id AND s.part = i.archived_part \
         WHERE i.job_id = ?1 AND {condition} AND (i.run_id = ?2 AND a.run_id = ?2 OR ?2 IS NULL) ORDER BY {order}, s.turn, s.name",
        d.each_by_key("attempts", "a", "a.id = i.archived")
    )
}

pub(crate) static SINGLE: Sql = Sql::new(|d| walk(d, "i.group_key IS NULL", "i.id"));
pub(crate) static GROUPED: Sql = Sql::new(|d| walk(d, "i.group_key IS NOT NULL", "i.group_key, i.id"));

pub(crate) fn aggregates(conn: &Connection, run: RunId) -> Result<Aggregates> {
    let run = runs::run(conn, run)?;
    over(conn, run.job, Some(run.id))
}

pub(crate) fn job_aggregates(conn: &Connection, job: JobId) -> Result<Aggregates> {
    over(conn, job, None)
}

fn over(conn: &Connection, job: JobId, run: Option<RunId>) -> Result<Aggregates> {
    let mut tally = Tally::default();
    for sql in [&SINGLE, &GROUPED] {
        feed(conn, sql, job, run, &mut tally)?;
    }
    Ok(tally.finish())
}

fn feed(conn: &Connection, sql: &Sql, job: JobId, run: Option<RunId>, tally: &mut Tally) -> Result<()> {
    let mut stmt = conn.prepare_cached(sql)?;
    let mut last = None;
    stmt.walk(params![job.0, run.map(|run| run.0)], |row| {
        let id: i64 = row.get(0)?;
        if last.replace(id) != Some(id) {
            item(row, tally)?;
        }
        // Null where the item has no score.
        if let Some(turn) = row.get(8)? {
            let mut c = Cells::from(row, 9);
            tally.score(turn, c.text()?, c.coded()?, c.get()?);
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn item(row: &Row, tally: &mut Tally) -> Result<()> {
    let mut c = Cells::from(row, 1);
    let (group, state, latency_ms, usage) = (c.maybe_key()?, c.coded()?, c.get()?, c.usage()?);
    let class: Option<ErrorClass> = c.maybe_coded()?;
    tally.item(group, state, latency_ms, usage);
    if let (ItemState::Failed, Some(class)) = (state, class) {
        tally.error(class);
    }
    Ok(())
}
