//! Replan: a run takes on items the job has already, page by page, by state. The snapshot keeps the
//! last result until a new one lands; only the state and the current try change.

use windrow_model::counters::Counters;
use windrow_model::ids::MAX_TRIES;
use windrow_model::priority::Priority;
use windrow_model::record::Run;
use windrow_model::selection::turn_in_reverse;
use windrow_model::state::{ITEM, ItemEvent, ItemState, Mode};
use windrow_model::step::Verdict;
use windrow_model::store::{Planned, Selection, StoreError};
use windrow_model::{AttemptId, ItemId, Json, Ticket, Time};

use super::attempts::{self, NextTry, Tries};
use super::cells::Cells;
use super::codes::{code, in_states};
use super::db::{self, Connection, params};
use super::fault::{Result, expect_rows};
use super::items::{is_not_good, not_good};
use super::{journal, runs};

/// An item the job has, as far as taking it on again needs it.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub id: ItemId,
    pub state: ItemState,
    pub tries: u32,
}

/// Queues the item's next try in this run, as the one planned at `place`.
pub(crate) fn requeue(
    tx: &Connection,
    (run, place): (&Run, i64),
    item: &Known,
    (priority, resource): (Priority, Option<&str>),
    due_at: Time,
) -> Result<()> {
    if item.tries >= MAX_TRIES {
        return Err(StoreError::TriesExhausted { item: item.id, max: MAX_TRIES }.into());
    }
    let state = ITEM.next(item.state, ItemEvent::Requeue).unwrap_or(item.state);
    let (tries, wave) = (item.tries + 1, run.wave_at(place));
    let kept = (run.mode != Mode::Rollback).then_some(wave);
    let changed = tx
        .prepare_cached(
            "UPDATE items SET state = ?4, tries = ?5, run_id = ?6, wave = coalesce(?7, wave) \
             WHERE id = ?1 AND state = ?2 AND tries = ?3",
        )?
        .execute(params![item.id.0, code(item.state), item.tries, code(state), tries, run.id.0, kept])?;
    expect_rows(changed, 1, "state of an item")?;
    let id = AttemptId::new(item.id, tries);
    attempts::queue(tx, &NextTry { id, run: run.id, wave, priority, resource, due_at, tries: Tries::default() })
}

/// The page of a replan, for the states asked for.
pub(crate) fn page_sql(selection: &Selection) -> String {
    let all_not_good = selection.states.iter().all(|state| is_not_good(*state));
    let hint = if all_not_good { format!("{} AND ", not_good()) } else { String::new() };
    let (beyond, order) = if selection.reverse { ("<", "DESC") } else { (">", "ASC") };
    format!(
        "SELECT i.id, i.state, i.tries FROM items i WHERE i.job_id = ?1 AND {hint}{} AND i.run_id <> ?2 \
         AND i.id {beyond} ?3{} ORDER BY i.id {order} LIMIT ?4",
        in_states(&selection.states),
        narrowed(selection)
    )
}

/// The conditions beside the state.
fn narrowed(selection: &Selection) -> String {
    let mut sql = String::new();
    if !selection.errors.is_empty() {
        let classes: Vec<String> = selection.errors.iter().map(|class| code(*class).to_string()).collect();
        sql += &format!(" AND i.error_class IN ({})", classes.join(", "));
    }
    if !selection.items.is_empty() {
        let ids: Vec<String> = selection.items.iter().map(|id| id.0.to_string()).collect();
        sql += &format!(" AND i.id IN ({})", ids.join(", "));
    }
    if let Some(wave) = selection.wave {
        sql += &format!(" AND i.wave = {wave}");
    }
    if let Some(names) = &selection.unjudged {
        let quoted: Vec<String> = names.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
        let named = if names.is_empty() { String::new() } else { format!(" AND s.name IN ({})", quoted.join(", ")) };
        sql += &format!(
            " AND EXISTS (SELECT 1 FROM scores s WHERE s.attempt_id = i.archived AND s.part = i.archived_part \
             AND s.verdict = {}{named})",
            code(Verdict::Error)
        );
    }
    sql
}

pub(crate) fn replan_items(
    tx: &Connection,
    ticket: Ticket,
    selection: &Selection,
    limit: usize,
    now: Time,
) -> Result<Planned> {
    let run = runs::check_ticket(tx, ticket)?;
    if run.planned || !run.state.dispatches() {
        return Ok(Planned { done: run.planned, ..Default::default() });
    }
    let page = page(tx, &run, selection, limit)?;
    for (item, place) in page.iter().zip(run.counters.total..) {
        let (priority, resource) = last_try(tx, item)?;
        let due_at = if selection.reverse { turn_in_reverse(run.created_at, place) } else { now };
        requeue(tx, (&run, place), item, (priority, resource.as_deref()), due_at)?;
    }
    let cursor = match page.last() {
        Some(last) => Some(Json::from_text(format!("{{\"after\":{}}}", last.id))),
        None => run.cursor.clone(),
    };
    let done = page.len() < limit;
    let changed = tx
        .prepare_cached("UPDATE runs SET cursor = ?3, planned = ?4 WHERE id = ?1 AND epoch = ?2 AND planned = 0")?
        .execute(params![run.id.0, run.epoch, cursor.as_ref().map(|cursor| cursor.as_str()), done])?;
    expect_rows(changed, 1, "cursor of a run")?;
    let requeued = page.len() as i64;
    runs::move_counters(tx, run.id, &Counters { total: requeued, queued: requeued, ..Default::default() })?;
    if done {
        journal::emit_planned(tx, &run, requeued, now)?;
    }
    Ok(Planned { requeued, done, ..Default::default() })
}

fn page(tx: &Connection, run: &Run, selection: &Selection, limit: usize) -> Result<Vec<Known>> {
    let start = if selection.reverse { i64::MAX } else { -1 };
    let after = run.cursor.as_ref().and_then(|cursor| cursor.value()["after"].as_i64()).unwrap_or(start);
    let mut stmt = tx.prepare_cached(&page_sql(selection))?;
    let found = stmt.query_map(params![run.job.0, run.id.0, after, limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(Known { id: ItemId(c.get()?), state: c.coded()?, tries: c.get()? })
    })?;
    Ok(found.collect::<db::Result<_>>()?)
}

/// An item's own priority and resource are those of its last try.
fn last_try(tx: &Connection, item: &Known) -> Result<(Priority, Option<String>)> {
    let id = AttemptId::new(item.id, item.tries);
    let mut read = tx.prepare_cached(&attempts::READ)?;
    let last = attempts::thin(&mut read, id)?.ok_or_else(|| StoreError::Corrupt(format!("attempt {id} is missing")))?;
    Ok((last.priority, last.resource))
}
