//! Cancel: the waiting items of a stopping run, a bounded number at a time.

use windrow_model::counters::Counters;
use windrow_model::event::ArchivedItem;
use windrow_model::state::{ATTEMPT, AttemptEvent, AttemptState, ITEM, ItemEvent, Outcome};
use windrow_model::step::Usage;
use windrow_model::{AttemptId, RunId, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, Sql, params};
use crate::sql::codes::{code, goal, goal_code, in_states, keyed_guard};
use crate::sql::table::{journal, result_changes, runs};
use crate::sql::verb::archive;

/// In the order of the queue, whose index serves it; nothing depends on the order of the cancelled.
pub(crate) static QUEUED: Sql = Sql::new(|d| {
    let queued = in_states(&[AttemptState::Queued]);
    format!(
        "SELECT id FROM attempts{} WHERE run_id = ?1 AND {queued} ORDER BY wave, priority, due_at, id LIMIT ?2",
        d.index("attempts_queued")
    )
});
/// What somebody is about to claim is left to him; he will find that the run dispatches nothing any more.
pub(crate) static SKIP_TO_QUEUED: Sql = Sql::new(|d| format!("{} FOR UPDATE SKIP LOCKED", QUEUED.text(d)));
/// A look at everything blocked, in any run: that is seldom much, and seldom asked.
pub(crate) static BLOCKED: Sql = Sql::new(|_| {
    let blocked = in_states(&[AttemptState::Blocked]);
    format!("SELECT id FROM attempts WHERE run_id = ?1 AND {blocked} ORDER BY resource, id LIMIT ?2")
});
pub(crate) static CANCEL: Change = Change::written("attempts", |d| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Cancel), keyed_guard(d, &ATTEMPT, AttemptEvent::Cancel));
    let outcome = code(Outcome::Cancelled);
    [format!("state = {goal}, outcome = {outcome}, ended_at = ?2"), format!("id = ?1 AND {guard}")]
});
pub(crate) static CANCEL_ITEM: Change = Change::written("items", |d| {
    let (goal, guard) = (goal_code(&ITEM, ItemEvent::Cancel), keyed_guard(d, &ITEM, ItemEvent::Cancel));
    [format!("state = {goal}, finished_at = ?2"), format!("id = ?1 AND {guard}")]
});

pub(crate) fn cancel_items(tx: &Connection, ticket: Ticket, limit: usize, now: Time) -> Result<i64> {
    let run = runs::check_ticket(tx, ticket)?;
    if !run.state.is_stopping() {
        return Ok(0);
    }
    let mut page = waiting(tx, if tx.skips_locked() { &SKIP_TO_QUEUED } else { &QUEUED }, run.id, limit)?;
    page.extend(waiting(tx, &BLOCKED, run.id, limit - page.len())?);
    let tries: Vec<_> = page.iter().map(|attempt| [attempt.0, now.0].map(Cell::Int)).collect();
    let items: Vec<_> = page.iter().map(|attempt| [attempt.item().0, now.0].map(Cell::Int)).collect();
    expect_rows(tx.execute_many(&CANCEL, &tries)?, page.len(), "cancelled attempts")?;
    expect_rows(tx.execute_many(&CANCEL_ITEM, &items)?, page.len(), "cancelled items")?;
    let cancelled = |attempt: &AttemptId| ArchivedItem {
        id: attempt.item(),
        ordinal: 0,
        state: goal(&ITEM, ItemEvent::Cancel),
        latency_ms: None,
        usage: Usage::default(),
        error: None,
        output: None,
        scores: Vec::new(),
    };
    let mut settled: Vec<ArchivedItem> = page.iter().map(cancelled).collect();
    archive::find_ordinals(tx, &mut settled)?;
    let n = page.len() as i64;
    let moved = Counters { queued: -n, cancelled: n, ..Default::default() };
    runs::move_counters(tx, run.id, &moved)?;
    result_changes::note(tx, run.job, page.iter().map(|attempt| attempt.item()))?;
    journal::emit_archived(tx, &run, &moved, &settled, now)?;
    Ok(n)
}

fn waiting(tx: &Connection, sql: &Sql, run: RunId, limit: usize) -> Result<Vec<AttemptId>> {
    let mut stmt = tx.prepare_cached(sql)?;
    let found = stmt.query_map(params![run.0, limit as i64], |row| row.get(0).map(AttemptId))?;
    Ok(found.collect::<backend::Result<_>>()?)
}
