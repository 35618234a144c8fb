//! Replan: a run takes on items the job has already, page by page, by state. The snapshot keeps the
//! last result until a new one lands; only the state and the current try change.

use std::collections::{BTreeMap, HashMap};

use windrow_model::counters::{Counters, JobCounters};
use windrow_model::ids::MAX_TRIES;
use windrow_model::priority::Priority;
use windrow_model::record::Run;
use windrow_model::selection::turn_in_reverse;
use windrow_model::state::{ITEM, ItemEvent, ItemState};
use windrow_model::step::{ContentKey, Verdict};
use windrow_model::store::{Planned, Selection, StoreError};
use windrow_model::{AttemptId, ItemId, JobId, Json, RunId, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, Dialect, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{code, in_states};
use crate::sql::table::attempts::{self, AttemptHead, NextTry, Tries};
use crate::sql::table::items::{is_not_good, not_good};
use crate::sql::table::{jobs, journal, result_changes, runs};

/// An item the job has, as far as taking it on again needs it.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub id: ItemId,
    pub state: ItemState,
    pub tries: u32,
    /// The run that executed it last.
    pub run: RunId,
}

/// Items that a run takes on again, sent as sets, since every statement may be a journey over the network.
#[derive(Default)]
pub(crate) struct Requeued<'a> {
    taken: Vec<ItemId>,
    items: Vec<[Cell<'a>; 7]>,
    tries: Vec<[Cell<'a>; 9]>,
    groups: Vec<[Cell<'a>; 2]>,
    inputs: Vec<[Cell<'a>; 2]>,
    /// One number per item: a row that the source has twice stands where it is last.
    ordinals: BTreeMap<ItemId, i64>,
    /// What the runs lose that had the items before.
    lost: BTreeMap<RunId, Counters>,
}

pub(crate) static REQUEUE: Change = Change::update(
    "items",
    "state = ?4, tries = ?5, run_id = ?6, wave = coalesce(?7, wave)",
    "id = ?1 AND state = ?2 AND tries = ?3",
);
pub(crate) static REGROUP: Change =
    Change::written("items", |d| ["group_key = ?2".into(), format!("id = ?1 AND NOT ({})", d.same("group_key", "?2"))]);

pub(crate) static CHANGE_INPUT: Change = Change::update("inputs", "body = ?2", "item_id = ?1 AND body <> ?2");
pub(crate) static RENUMBER: Change = Change::update("items", "ordinal = ?2", "id = ?1");

impl<'a> Requeued<'a> {
    /// The item's next try in this run, as the one planned at `place`.
    pub fn add(
        &mut self,
        (run, place): (&Run, i64),
        item: &Known,
        (priority, resource): (Priority, Option<&'a str>),
        due_at: Time,
    ) -> Result<()> {
        if item.tries >= MAX_TRIES {
            return Err(StoreError::TriesExhausted { item: item.id, max: MAX_TRIES }.into());
        }
        let state = ITEM.next(item.state, ItemEvent::Requeue).unwrap_or(item.state);
        let (tries, wave) = (item.tries + 1, run.wave_at(place));
        // A retry or a rollback leaves items in the wave they belong to.
        let kept = if run.mode.reads_source() { Cell::Int(wave) } else { Cell::Null };
        let [id, before, tried] = [item.id.0, code(item.state), item.tries.into()].map(Cell::Int);
        let [after, tried_now, of_run] = [code(state), tries.into(), run.id.0].map(Cell::Int);
        let lost = self.lost.entry(item.run).or_default();
        lost.total -= 1;
        lost.add(item.state, -1);
        self.taken.push(item.id);
        self.items.push([id, before, tried, after, tried_now, of_run, kept]);
        let id = AttemptId::new(item.id, tries);
        let next = NextTry { id, run: run.id, wave, priority, resource, due_at, tries: Tries::default() };
        self.tries.push(next.row());
        Ok(())
    }

    /// How often a row is tried may change from run to run.
    pub fn regroup(&mut self, item: ItemId, group: Option<&'a ContentKey>) {
        self.groups.push([Cell::Int(item.0), group.map_or(Cell::Null, |group| Cell::Blob(&group.0))]);
    }

    /// What identifies the row is the same, and the rest of it may not be.
    pub fn change_input(&mut self, item: ItemId, input: &'a Json) {
        self.inputs.push([Cell::Int(item.0), Cell::Text(input.as_str())]);
    }

    pub fn renumber(&mut self, item: ItemId, ordinal: i64) {
        self.ordinals.insert(item, ordinal);
    }

    pub fn send(&mut self, tx: &Connection, job: JobId) -> Result<()> {
        let Self { taken, items, tries, groups, inputs, ordinals, lost } = std::mem::take(self);
        expect_rows(tx.execute_many(&REQUEUE, &items)?, items.len(), "requeued items")?;
        expect_rows(tx.execute_many(&attempts::QUEUE, &tries)?, tries.len(), "next tries of items")?;
        tx.execute_many(&REGROUP, &groups)?;
        tx.execute_many(&CHANGE_INPUT, &inputs)?;
        let renumbered: Vec<ItemId> = ordinals.keys().copied().collect();
        let ordinals: Vec<_> =
            ordinals.iter().map(|(item, ordinal)| [Cell::Int(item.0), Cell::Int(*ordinal)]).collect();
        tx.execute_many(&RENUMBER, &ordinals)?;
        result_changes::note(tx, job, taken.into_iter().chain(renumbered))?;
        leave_earlier_runs(tx, job, &lost)
    }
}

/// The items are no longer among those of earlier runs, which the job counts apart.
fn leave_earlier_runs(tx: &Connection, job: JobId, lost: &BTreeMap<RunId, Counters>) -> Result<()> {
    let mut left = JobCounters::default();
    let modes = runs::modes(tx, &lost.keys().copied().collect::<Vec<_>>())?;
    lost.iter().for_each(|(run, counters)| left.add(modes[run], *counters));
    jobs::move_rest(tx, job, &left)
}

/// The page of a replan, for the states asked for.
pub(crate) fn page_sql(d: Dialect, selection: &Selection) -> String {
    let all_not_good = selection.states.iter().all(|state| is_not_good(*state));
    let hint = if all_not_good { format!("{} AND ", not_good(d, "i")) } else { String::new() };
    let (beyond, order) = if selection.reverse { ("<", "DESC") } else { (">", "ASC") };
    format!(
        "SELECT i.id, i.state, i.tries, i.run_id FROM items i WHERE i.job_id = ?1 AND {hint}{} AND i.run_id <> ?2 \
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
    let tried = last_tries(tx, &page)?;
    let mut requeued = Requeued::default();
    for (item, place) in page.iter().zip(run.counters.total..) {
        let last = tried.get(&item.id).ok_or_else(|| StoreError::Corrupt(format!("no try of item {}", item.id)))?;
        let start = selection.not_before.map_or(now, |at| at.max(now));
        let due_at = if selection.reverse { turn_in_reverse(run.created_at, place) } else { start };
        requeued.add((&run, place), item, (last.priority, last.resource.as_deref()), due_at)?;
    }
    requeued.send(tx, run.job)?;
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
    let mut stmt = tx.prepare_cached(&page_sql(tx.dialect(), selection))?;
    let found = stmt.query_map(params![run.job.0, run.id.0, after, limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(Known { id: ItemId(c.get()?), state: c.coded()?, tries: c.get()?, run: RunId(c.get()?) })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

/// An item's own priority and resource are those of its last try.
fn last_tries(tx: &Connection, page: &[Known]) -> Result<HashMap<ItemId, AttemptHead>> {
    let ids: Vec<[Cell; 1]> = page.iter().map(|item| [Cell::Int(AttemptId::new(item.id, item.tries).0)]).collect();
    let mut found = HashMap::new();
    tx.query_many(&attempts::READ, &ids, |n, row| {
        found.insert(page[n].id, attempts::head_from(row)?);
        Ok(())
    })?;
    Ok(found)
}
