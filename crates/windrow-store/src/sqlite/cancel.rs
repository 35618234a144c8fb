//! Cancel: the waiting items of a stopping run, lowest first, a bounded number at a time.

use rusqlite::{Connection, params};
use windrow_model::counters::Counters;
use windrow_model::state::{ATTEMPT, AttemptEvent, ITEM, ItemEvent, Outcome};
use windrow_model::{AttemptId, Ticket, Time};

use super::codes::{Sql, code, goal, goal_code, guard};
use super::fault::{Result, expect_rows};
use super::{journal, runs};

pub(super) static WAITING: Sql = Sql::new(|| {
    let guard = guard(&ATTEMPT, AttemptEvent::Cancel);
    format!("SELECT id FROM attempts WHERE run_id = ?1 AND {guard} ORDER BY id LIMIT ?2")
});
/// The page is the head of the list, so its last id bounds it.
pub(super) static CANCEL: Sql = Sql::new(|| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Cancel), guard(&ATTEMPT, AttemptEvent::Cancel));
    let outcome = code(Outcome::Cancelled);
    format!(
        "UPDATE attempts SET state = {goal}, outcome = {outcome}, ended_at = ?3 WHERE run_id = ?1 AND {guard} AND id <= ?2"
    )
});
static CANCEL_ITEM: Sql = Sql::new(|| {
    let (goal, guard) = (goal_code(&ITEM, ItemEvent::Cancel), guard(&ITEM, ItemEvent::Cancel));
    format!("UPDATE items SET state = {goal}, finished_at = ?2 WHERE id = ?1 AND {guard}")
});

pub(super) fn cancel_items(tx: &Connection, ticket: Ticket, limit: usize, now: Time) -> Result<i64> {
    let run = runs::check_ticket(tx, ticket)?;
    if !run.state.is_stopping() {
        return Ok(0);
    }
    let mut stmt = tx.prepare_cached(&WAITING)?;
    let page: Vec<AttemptId> = stmt
        .query_map(params![run.id.0, limit as i64], |row| row.get(0).map(AttemptId))?
        .collect::<rusqlite::Result<_>>()?;
    let Some(last) = page.last() else { return Ok(0) };
    let changed = tx.prepare_cached(&CANCEL)?.execute([run.id.0, last.0, now.0])?;
    expect_rows(changed, page.len(), "cancelled attempts")?;
    let mut cancel_item = tx.prepare_cached(&CANCEL_ITEM)?;
    let mut settled = Vec::with_capacity(page.len());
    for attempt in &page {
        let changed = cancel_item.execute([attempt.item().0, now.0])?;
        expect_rows(changed, 1, "cancelled item")?;
        settled.push((attempt.item(), goal(&ITEM, ItemEvent::Cancel)));
    }
    let n = page.len() as i64;
    runs::move_counters(tx, run.id, &Counters { queued: -n, cancelled: n, ..Default::default() })?;
    journal::emit_archived(tx, &run, &settled, now)?;
    Ok(n)
}
