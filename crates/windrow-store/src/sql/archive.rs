//! Archive: what was handed in becomes the snapshot. Snapshot, attempt, counters and outbox event
//! change together, a page at a time.

use std::sync::LazyLock;

use windrow_model::counters::Counters;
use windrow_model::event::{ArchivedItem, ErrorNote};
use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{ATTEMPT, AttemptEvent, ITEM, ItemEvent, Outcome};
use windrow_model::step::Usage;
use windrow_model::store::{Archived, StoreError};
use windrow_model::{AttemptId, ErrorClass, Ticket, Time};

use super::cells::Cells;
use super::codes::{Sql, code, goal, goal_code, guard};
use super::db::{self, Connection, OptionalExtension, params};
use super::fault::{Result, expect_rows};
use super::journal::{self, Note};
use super::runs;
use super::scores::{self, Part};

pub(crate) static LOGGED: Sql = Sql::new(|| {
    let guard = guard(&ATTEMPT, AttemptEvent::Archive);
    format!(
        "SELECT id, outcome, error_class, error_message, latency_ms, tokens_in, tokens_out, cost_nanos \
         FROM attempts WHERE run_id = ?1 AND {guard} ORDER BY id LIMIT ?2"
    )
});
/// The page is the head of the list, so its last id bounds it.
pub(crate) static RESULT: Sql = Sql::new(|| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Archive), guard(&ATTEMPT, AttemptEvent::Archive));
    format!("UPDATE attempts SET state = {goal} WHERE run_id = ?1 AND {guard} AND id <= ?2")
});
/// One statement per event, since each has its own guard.
static SETTLE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let settle = |event: &ItemEvent| {
        format!(
            "UPDATE items SET state = {}, archived = ?2, archived_part = {}, error_class = ?3, error_message = ?4, \
             latency_ms = ?5, tokens_in = ?6, tokens_out = ?7, cost_nanos = ?8, finished_at = ?9 WHERE id = ?1 AND {} RETURNING ordinal",
            goal_code(&ITEM, *event),
            Part::Whole as i64,
            guard(&ITEM, *event)
        )
    };
    ItemEvent::ALL.iter().map(settle).collect()
});

struct Logged {
    id: AttemptId,
    outcome: Outcome,
    error: Option<(ErrorClass, String)>,
    latency_ms: i64,
    usage: Usage,
}

pub(crate) fn archive(tx: &Connection, ticket: Ticket, limit: usize, now: Time) -> Result<Archived> {
    let run = runs::check_ticket(tx, ticket)?;
    let page = logged(tx, &run, limit)?;
    let Some(last) = page.last() else { return Ok(Archived { items: 0, more: page.len() == limit }) };
    let changed = tx.prepare_cached(&RESULT)?.execute([run.id.0, last.id.0])?;
    expect_rows(changed, page.len(), "archived attempts")?;
    let mut moved = Counters { running: -(page.len() as i64), ..Default::default() };
    let mut settled = Vec::with_capacity(page.len());
    for attempt in &page {
        let item = settle(tx, attempt, now)?;
        moved.add(item.state, 1);
        settled.push(item);
        if attempt.outcome == Outcome::Failed {
            log_failure(tx, &run, attempt, now)?;
        }
    }
    runs::move_counters(tx, run.id, &moved)?;
    journal::emit_archived(tx, &run, &moved, &settled, now)?;
    Ok(Archived { items: page.len() as i64, more: page.len() == limit })
}

fn logged(tx: &Connection, run: &Run, limit: usize) -> Result<Vec<Logged>> {
    let mut stmt = tx.prepare_cached(&LOGGED)?;
    let found = stmt.query_map(params![run.id.0, limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(Logged {
            id: AttemptId(c.get()?),
            outcome: c.coded()?,
            error: c.error()?,
            latency_ms: c.get()?,
            usage: c.usage()?,
        })
    })?;
    Ok(found.collect::<db::Result<_>>()?)
}

fn settle(tx: &Connection, attempt: &Logged, now: Time) -> Result<ArchivedItem> {
    let event = ItemEvent::of(attempt.outcome)
        .ok_or_else(|| StoreError::Corrupt(format!("attempt {} was handed in as {}", attempt.id, attempt.outcome)))?;
    let row = params![
        attempt.id.item().0,
        attempt.id.0,
        attempt.error.as_ref().map(|(class, _)| code(*class)),
        attempt.error.as_ref().map(|(_, message)| message.as_str()),
        attempt.latency_ms,
        attempt.usage.tokens_in,
        attempt.usage.tokens_out,
        attempt.usage.cost_nanos,
        now.0,
    ];
    let mut stmt = tx.prepare_cached(&SETTLE[code(event) as usize])?;
    let ordinal = stmt.query_row(row, |row| row.get(0)).optional()?;
    let ordinal =
        ordinal.ok_or_else(|| StoreError::Corrupt(format!("item {} cannot be settled", attempt.id.item())))?;
    Ok(ArchivedItem {
        id: attempt.id.item(),
        ordinal,
        state: goal(&ITEM, event),
        latency_ms: Some(attempt.latency_ms),
        usage: attempt.usage,
        error: attempt.error.as_ref().map(ErrorNote::of),
        scores: scores::notes_of(tx, attempt.id)?,
    })
}

fn log_failure(tx: &Connection, run: &Run, attempt: &Logged, now: Time) -> Result<()> {
    let Some((class, message)) = &attempt.error else { return Ok(()) };
    let (item, message) = (Some(attempt.id.item()), format!("{class}: {message}"));
    let (job, run) = (run.job, run.id);
    journal::note(tx, Note { job, run, item, level: LogLevel::Error, event: "item_failed", message }, now)
}
