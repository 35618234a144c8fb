//! Archive: what was handed in becomes the snapshot. Snapshot, attempt, counters and outbox event
//! change together, a page at a time.

use windrow_model::counters::Counters;
use windrow_model::event::{self, ArchivedItem, ErrorNote};
use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{ATTEMPT, AttemptEvent, ITEM, ItemEvent, Mode, Outcome};
use windrow_model::step::{ANSWERING, Usage};
use windrow_model::store::{Archived, NewLog, StoreError};
use windrow_model::{AttemptId, ErrorClass, Json, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, Dialect, Lookup, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{code, goal, goal_code, guard, keyed_guard};
use crate::sql::table::journal::{self, Note};
use crate::sql::table::scores::{self, Part};
use crate::sql::table::{result_changes, runs};
use crate::sql::verb::rollout;
use crate::sql::verb::scan_bookmarks::{Queue, ScanBookmarks};

pub(crate) static LOGGED: Sql = Sql::new(|d| {
    let guard = guard(&ATTEMPT, AttemptEvent::Archive);
    format!(
        "SELECT id, outcome, error_class, error_message, latency_ms, tokens_in, tokens_out, cost_nanos \
         FROM attempts{} WHERE run_id = ?1 AND {guard} AND id >= ?2 ORDER BY id LIMIT ?3",
        d.index("attempts_logged")
    )
});
pub(crate) static RESULT: Change = Change::written("attempts", |d| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Archive), keyed_guard(d, &ATTEMPT, AttemptEvent::Archive));
    [format!("state = {goal}"), format!("id = ?1 AND {guard}")]
});
/// One statement per event, in the order of [`ItemEvent::ALL`], since each has its own guard.
pub(crate) static SETTLE: [Change; ItemEvent::ALL.len()] = [
    Change::written("items", |d| settled(d, ItemEvent::Requeue)),
    Change::written("items", |d| settled(d, ItemEvent::Succeed)),
    Change::written("items", |d| settled(d, ItemEvent::Fail)),
    Change::written("items", |d| settled(d, ItemEvent::Cancel)),
    Change::written("items", |d| settled(d, ItemEvent::Skip)),
];
pub(crate) static ORDINAL: Lookup = Lookup::new("ordinal", "items", "id = ?1", "");

/// What the steps of an attempt answered, in it or where they reused it from.
pub(crate) static ANSWERS: Lookup = Lookup::written(|_| {
    let kinds = ANSWERING.map(|kind| format!("'{kind}'")).join(", ");
    let from = "steps s LEFT JOIN steps f ON f.id = s.reused_from".to_owned();
    let condition = format!("s.id BETWEEN ?1 AND ?2 AND s.kind IN ({kinds})");
    ["s.kind, coalesce(s.output, f.output)".into(), from, condition, "s.id".into()]
});

fn settled(d: Dialect, event: ItemEvent) -> [String; 2] {
    let set = format!(
        "state = {}, archived = ?2, archived_part = {}, error_class = ?3, error_message = ?4, latency_ms = ?5, \
         tokens_in = ?6, tokens_out = ?7, cost_nanos = ?8, finished_at = ?9",
        goal_code(&ITEM, event),
        Part::Whole as i64,
    );
    [set, format!("id = ?1 AND {}", keyed_guard(d, &ITEM, event))]
}

struct Logged {
    id: AttemptId,
    outcome: Outcome,
    error: Option<(ErrorClass, String)>,
    latency_ms: i64,
    usage: Usage,
}

pub(crate) fn archive(
    tx: &Connection,
    bookmarks: &ScanBookmarks,
    ticket: Ticket,
    limit: usize,
    now: Time,
) -> Result<Archived> {
    let run = runs::read_unlocked(tx, ticket)?;
    let page = logged(tx, bookmarks, &run, limit)?;
    if page.is_empty() {
        return Ok(Archived { items: 0, more: limit == 0 });
    }
    let ids: Vec<[Cell; 1]> = page.iter().map(|attempt| [Cell::Int(attempt.id.0)]).collect();
    if tx.execute_many(&RESULT, &ids)? < page.len() {
        // The page was read before it was locked: the coordinator that is being replaced was first.
        return Err(backend::Error::Overtaken.into());
    }
    let mut settled = settle(tx, &page, now)?;
    let run = runs::check_ticket(tx, ticket)?;
    if run.mode == Mode::Online {
        add_answers(tx, &page, &mut settled)?;
    }
    let mut moved = Counters { running: -(page.len() as i64), ..Default::default() };
    settled.iter().for_each(|item| moved.add(item.state, 1));
    let failed = page.iter().filter(|attempt| attempt.outcome == Outcome::Failed);
    let failures: Vec<NewLog> = failed.filter_map(|attempt| failure_of(&run, attempt)).collect();
    journal::log_all(tx, &failures, now)?;
    runs::move_counters(tx, run.id, &moved)?;
    result_changes::note(tx, run.job, settled.iter().map(|item| item.id))?;
    journal::emit_archived(tx, &run, &moved, &settled, now)?;
    if run.rollout.is_some() || run.limits.max_failed.is_some() {
        rollout::after_archiving(tx, run.id, now)?;
    }
    Ok(Archived { items: page.len() as i64, more: page.len() == limit })
}

fn logged(tx: &Connection, bookmarks: &ScanBookmarks, run: &Run, limit: usize) -> Result<Vec<Logged>> {
    let scan = bookmarks.scan(Queue::HandedIn { run: run.id });
    let from = scan.from.as_ref().map_or(i64::MIN, |heads| heads[0].1.0);
    let mut stmt = tx.prepare_cached(&LOGGED)?;
    let found = stmt.query_map(params![run.id.0, from, limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(Logged {
            id: AttemptId(c.get()?),
            outcome: c.coded()?,
            error: c.error()?,
            latency_ms: c.get()?,
            usage: c.usage()?,
        })
    })?;
    let found = found.collect::<backend::Result<Vec<Logged>>>()?;
    scan.found(found.first().map(|first| (0, (first.id.0, 0))).into_iter().collect());
    Ok(found)
}

fn settle(tx: &Connection, page: &[Logged], now: Time) -> Result<Vec<ArchivedItem>> {
    let mut settled = Vec::with_capacity(page.len());
    let mut rows: Vec<Vec<[Cell; 9]>> = vec![Vec::new(); ItemEvent::ALL.len()];
    for attempt in page {
        let decode_error =
            || StoreError::Corrupt(format!("attempt {} was handed in as {}", attempt.id, attempt.outcome));
        let event = ItemEvent::of(attempt.outcome).ok_or_else(decode_error)?;
        rows[code(event) as usize].push(snapshot(attempt, now));
        settled.push(ArchivedItem {
            id: attempt.id.item(),
            ordinal: 0,
            state: goal(&ITEM, event),
            latency_ms: Some(attempt.latency_ms),
            usage: attempt.usage,
            error: attempt.error.as_ref().map(ErrorNote::of),
            output: None,
            scores: Vec::new(),
        });
    }
    for (change, rows) in SETTLE.iter().zip(&rows) {
        expect_rows(tx.execute_many(change, rows)?, rows.len(), "settled items")?;
    }
    find_ordinals(tx, &mut settled)?;
    let attempts: Vec<[Cell; 1]> = page.iter().map(|attempt| [Cell::Int(attempt.id.0)]).collect();
    tx.query_many(&scores::NOTES, &attempts, |n, row| {
        settled[n].scores.push(scores::note_from(row)?);
        Ok(())
    })?;
    Ok(settled)
}

/// What an online run pushes with each result.
fn add_answers(tx: &Connection, page: &[Logged], settled: &mut [ArchivedItem]) -> Result<()> {
    let range = |attempt: &Logged| [attempt.id.first_step().0, attempt.id.last_step().0].map(Cell::Int);
    Ok(tx.query_many(&ANSWERS, &page.iter().map(range).collect::<Vec<_>>(), |n, row| {
        let mut c = Cells::of(row);
        let (kind, output): (String, Option<Json>) = (c.get()?, c.maybe_json()?);
        if let Some(output) = output {
            event::add_answer(&mut settled[n], &kind, &output);
        }
        Ok(())
    })?)
}

/// Which row of its source each item is of, for whoever hears of it.
pub(crate) fn find_ordinals(tx: &Connection, settled: &mut [ArchivedItem]) -> Result<()> {
    let items: Vec<[Cell; 1]> = settled.iter().map(|item| [Cell::Int(item.id.0)]).collect();
    Ok(tx.query_many(&ORDINAL, &items, |n, row| {
        settled[n].ordinal = row.get(0)?;
        Ok(())
    })?)
}

fn snapshot(attempt: &Logged, now: Time) -> [Cell<'_>; 9] {
    let error = attempt.error.as_ref();
    [
        Cell::Int(attempt.id.item().0),
        Cell::Int(attempt.id.0),
        error.map_or(Cell::Null, |(class, _)| Cell::Int(code(*class))),
        error.map_or(Cell::Null, |(_, message)| Cell::Text(message)),
        Cell::Int(attempt.latency_ms),
        Cell::Int(attempt.usage.tokens_in),
        Cell::Int(attempt.usage.tokens_out),
        Cell::Int(attempt.usage.cost_nanos),
        Cell::Int(now.0),
    ]
}

fn failure_of(run: &Run, attempt: &Logged) -> Option<NewLog> {
    let (class, message) = attempt.error.as_ref()?;
    let (item, message) = (Some(attempt.id.item()), format!("{class}: {message}"));
    let (job, run) = (run.job, run.id);
    Some(Note { job, run, item, level: LogLevel::Error, event: "item_failed", message }.into())
}
