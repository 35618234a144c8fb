//! Rows of items: pages of the snapshot, and everything known about one.

use windrow_model::record::{Item, ItemDetail};
use windrow_model::state::ItemState;
use windrow_model::store::{ItemFilter, StoreError};
use windrow_model::{AttemptId, ItemId, JobId, RunId};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, Dialect, Lookup, Row, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{attempts_per_item, code, in_states};
use crate::sql::table::{attempts, labels, scores, steps};

/// The condition of the index `items_not_good`, of items called `alias`. PostgreSQL has a generated column for it, so that
/// the index does not depend on the state.
pub(crate) fn not_good(d: Dialect, alias: &str) -> String {
    match d {
        Dialect::Postgres => format!("{alias}.not_good"),
        Dialect::Sqlite | Dialect::MySql => format!("{alias}.state > {}", code(ItemState::Succeeded)),
    }
}

pub(crate) fn is_not_good(state: ItemState) -> bool {
    code(state) > code(ItemState::Succeeded)
}

const COLUMNS: &str = "i.id, i.job_id, i.run_id, i.ordinal, i.key, i.group_key, i.variant, i.wave, i.state, i.tries, a.state, i.archived, \
     i.error_class, i.error_message, i.latency_ms, i.tokens_in, i.tokens_out, i.cost_nanos, i.finished_at";

/// Items with their current attempt.
fn with_attempt(d: Dialect) -> String {
    let current = format!("a.id = i.id * {} + i.tries", attempts_per_item());
    format!("items i {}", d.each_by_key("attempts", "a", &current))
}

pub(crate) static BY_ID: Lookup =
    Lookup::written(|d| [COLUMNS.into(), with_attempt(d), "i.id = ?1".into(), String::new()]);
pub(crate) static INPUT: Lookup = Lookup::new("body", "inputs", "item_id = ?1", "");

pub(crate) fn page_sql(d: Dialect, filter: &ItemFilter) -> String {
    let mut condition = String::from("i.job_id = ?1 AND i.id > ?2");
    if let Some(state) = filter.state {
        if is_not_good(state) {
            condition += &format!(" AND {}", not_good(d, "i"));
        }
        condition += &format!(" AND i.{}", in_states(&[state]));
    }
    condition += " AND (i.run_id = ?3 OR ?3 IS NULL) ORDER BY i.id LIMIT ?4";
    format!("SELECT {COLUMNS} FROM {} WHERE {condition}", with_attempt(d))
}

pub(crate) fn items(conn: &Connection, filter: &ItemFilter) -> Result<Vec<Item>> {
    let after = filter.after.map_or(-1, |after| after.0);
    let run = filter.run.map(|run| run.0);
    let mut stmt = conn.prepare_cached(&page_sql(conn.dialect(), filter))?;
    let found = stmt.query_map(params![filter.job.0, after, run, filter.limit as i64], from_row)?;
    Ok(found.collect::<backend::Result<_>>()?)
}

/// The snapshot of each, in the order of the ids.
pub(crate) fn rows(conn: &Connection, ids: &[ItemId]) -> Result<Vec<Item>> {
    one_each(conn, &BY_ID, ids, from_row)
}

/// Everything about each, in the order of the ids.
pub(crate) fn details(conn: &Connection, ids: &[ItemId]) -> Result<Vec<ItemDetail>> {
    let mut details = outlines(conn, ids)?;
    let ranges = ids.iter().map(|id| id.attempts()).map(|(first, last)| [first.first_step().0, last.last_step().0]);
    let ranges: Vec<[Cell; 2]> = ranges.map(|range| range.map(Cell::Int)).collect();
    conn.query_many(&steps::HISTORY, &ranges, |n, row| {
        details[n].steps.push(steps::from_row(row)?);
        Ok(())
    })?;
    Ok(details)
}

/// The same without the steps.
pub(crate) fn outlines(conn: &Connection, ids: &[ItemId]) -> Result<Vec<ItemDetail>> {
    let inputs = one_each(conn, &INPUT, ids, |row| Cells::of(row).json())?;
    let (scores, attempts) = (scores::of_items(conn, ids)?, attempts::of_items(conn, ids)?);
    let known = inputs.into_iter().zip(scores).zip(attempts);
    let found = rows(conn, ids)?.into_iter().zip(known);
    let labels = labels::of_items(conn, ids)?;
    let detail = |((item, ((input, scores), attempts)), labels)| {
        let steps = Vec::new();
        ItemDetail { item, input, scores, attempts, steps, labels }
    };
    Ok(found.zip(labels).map(detail).collect())
}

fn one_each<T>(
    conn: &Connection,
    lookup: &Lookup,
    ids: &[ItemId],
    read: impl Fn(&Row) -> backend::Result<T>,
) -> Result<Vec<T>> {
    let mut found: Vec<Option<T>> = ids.iter().map(|_| None).collect();
    let asked: Vec<[Cell; 1]> = ids.iter().map(|id| [Cell::Int(id.0)]).collect();
    conn.query_many(lookup, &asked, |n, row| {
        found[n] = Some(read(row)?);
        Ok(())
    })?;
    let missing = |id: &ItemId| StoreError::NotFound { what: "item", id: id.to_string() };
    found.into_iter().zip(ids).map(|(one, id)| Ok(one.ok_or_else(|| missing(id))?)).collect()
}

fn from_row(row: &Row) -> backend::Result<Item> {
    let mut c = Cells::of(row);
    Ok(Item {
        id: ItemId(c.get()?),
        job: JobId(c.get()?),
        run: RunId(c.get()?),
        ordinal: c.get()?,
        key: c.key()?,
        group: c.maybe_key()?,
        variant: c.get()?,
        wave: c.get()?,
        state: c.coded()?,
        tries: c.get()?,
        attempt_state: c.coded()?,
        archived: c.get::<Option<i64>>()?.map(AttemptId),
        error: c.error()?,
        latency_ms: c.get()?,
        usage: c.usage()?,
        finished_at: c.maybe_time()?,
    })
}
