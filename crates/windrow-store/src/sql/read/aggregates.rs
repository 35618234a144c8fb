//! Aggregates: one walk over items and their scores, row by row. The tally keeps sums, never items.

use std::ops::ControlFlow;

use windrow_model::aggregate::{Aggregates, Tally};
use windrow_model::state::{ITEM, ItemEvent, ItemState, Outcome};
use windrow_model::{ErrorClass, JobId, RunId};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Dialect, OptionalExtension, Params, Row, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{code, goal};
use crate::sql::read::results;
use crate::sql::table::runs;

/// Of items `i` with the attempt `a` that counts, and the scores of this part of it.
fn walk(from: &str, state: &str, error: &str, part: &str, condition: &str, order: &str) -> String {
    format!(
        "SELECT i.id, i.variant, i.group_key, {state}, a.latency_ms, a.tokens_in, a.tokens_out, a.cost_nanos, {error}, \
         s.turn, s.name, s.verdict, s.value FROM {from} \
         LEFT JOIN scores s ON s.attempt_id = a.id AND s.part = {part} \
         WHERE i.job_id = ?1 AND {condition} ORDER BY {order}, s.turn, s.name"
    )
}

/// The current results of a job.
fn current(d: Dialect, condition: &str, order: &str) -> String {
    let from = format!("items i {}", d.each_by_key("attempts", "a", "a.id = i.archived"));
    walk(&from, "i.state", "i.error_class", "i.archived_part", condition, order)
}

/// What the run `?2` archived, also where a later run has replaced it.
fn own(d: Dialect, condition: &str, order: &str) -> String {
    let condition = format!("a.outcome <> {} AND {condition}", code(Outcome::Cancelled));
    // An item has several attempts in the join, so their order comes first: it is the order of the index.
    let order = format!("{order}, a.id");
    walk(&results::handed_in(d, "?2"), "a.outcome", "a.error_class", "0", &condition, &order)
}

const ALONE: (&str, &str) = ("i.group_key IS NULL", "i.id");
const IN_GROUPS: (&str, &str) = ("i.group_key IS NOT NULL", "i.group_key, i.id");

pub(crate) static SINGLE: Sql = Sql::new(|d| current(d, ALONE.0, ALONE.1));
pub(crate) static GROUPED: Sql = Sql::new(|d| current(d, IN_GROUPS.0, IN_GROUPS.1));
pub(crate) static OWN_SINGLE: Sql = Sql::new(|d| own(d, ALONE.0, ALONE.1));
pub(crate) static OWN_GROUPED: Sql = Sql::new(|d| own(d, IN_GROUPS.0, IN_GROUPS.1));

pub(crate) fn aggregates(conn: &Connection, run: RunId) -> Result<Aggregates> {
    let run = runs::run(conn, run)?;
    let mut tally = Tally::default();
    for sql in [&OWN_SINGLE, &OWN_GROUPED] {
        feed(conn, sql, params![run.job.0, run.id.0], &mut tally, |c| {
            let outcome: Outcome = c.coded()?;
            Ok(ItemEvent::of(outcome).map_or(ItemState::Queued, |event| goal(&ITEM, event)))
        })?;
    }
    Ok(tally.finish())
}

/// One row of the index of errors is enough for each class.
pub(crate) static FAILED: Sql = Sql::new(|d| {
    format!(
        "SELECT outcome FROM attempts{} WHERE run_id = ?1 AND error_class = ?2 AND outcome = {} LIMIT 1",
        d.index("attempts_errors"),
        code(Outcome::Failed)
    )
});

pub(crate) fn failed_classes(conn: &Connection, run: RunId) -> Result<Vec<ErrorClass>> {
    let mut stmt = conn.prepare_cached(&FAILED)?;
    let mut failed = Vec::new();
    for class in ErrorClass::ALL {
        let found = stmt.query_row([run.0, code(*class)], |row| row.get::<i64>(0)).optional()?;
        failed.extend(found.map(|_| *class));
    }
    Ok(failed)
}

pub(crate) fn job_aggregates(conn: &Connection, job: JobId) -> Result<Aggregates> {
    let mut tally = Tally::default();
    for sql in [&SINGLE, &GROUPED] {
        feed(conn, sql, params![job.0], &mut tally, |c| c.coded())?;
    }
    Ok(tally.finish())
}

fn feed(
    conn: &Connection,
    sql: &Sql,
    params: impl Params,
    tally: &mut Tally,
    state: impl Fn(&mut Cells) -> backend::Result<ItemState>,
) -> Result<()> {
    let mut stmt = conn.prepare_cached(sql)?;
    let mut last = None;
    stmt.walk(params, |row| {
        let id: i64 = row.get(0)?;
        if last.replace(id) != Some(id) {
            item(row, tally, &state)?;
        }
        // Null where the item has no score.
        if let Some(turn) = row.get(9)? {
            let mut c = Cells::from(row, 10);
            tally.score(turn, c.text()?, c.coded()?, c.get()?);
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn item(row: &Row, tally: &mut Tally, state: impl Fn(&mut Cells) -> backend::Result<ItemState>) -> Result<()> {
    let mut c = Cells::from(row, 1);
    let variant: Option<String> = c.get()?;
    let (group, state, latency_ms, usage) = (c.maybe_key()?, state(&mut c)?, c.get()?, c.usage()?);
    let class: Option<ErrorClass> = c.maybe_coded()?;
    tally.item_of(variant.as_deref(), group, state, latency_ms, usage);
    if let (ItemState::Failed, Some(class)) = (state, class) {
        tally.error(class);
    }
    Ok(())
}
