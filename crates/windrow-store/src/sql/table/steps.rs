//! Rows of steps: written by a worker's report, lost sight of when it is gone, read as history.

use windrow_model::failure::Failure;
use windrow_model::record::Step;
use windrow_model::state::{STEP, StepEvent, StepState};
use windrow_model::step::{StepIntent, StepResult, Usage};
use windrow_model::store::StepWrite;
use windrow_model::{AttemptId, Json, StepId};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Change, Connection, Dialect, Lookup, NewRows, Row, Sql};
use crate::sql::cells::Cells;
use crate::sql::codes::{code, goal, goal_code, guard, keyed_guard};
use crate::sql::table::attempts::AttemptHead;
use crate::sql::verb::report::Batch;

pub(crate) static INSERT: NewRows = NewRows::new(
    "steps",
    "id, key, kind, name, turn, state, on_unknown, input, output, error_class, error_message, retry_after_ms, error_detail, \
     tokens_in, tokens_out, cost_nanos, reused_from, started_at, ended_at",
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19",
);
pub(crate) static EXISTS: Lookup = Lookup::new("id", "steps", "id = ?1", "");

fn moved(d: Dialect, event: StepEvent, more: &str) -> [String; 2] {
    let (goal, guard) = (goal_code(&STEP, event), keyed_guard(d, &STEP, event));
    [format!("state = {goal}{more}"), format!("id = ?1 AND {guard}")]
}

pub(crate) static FINISH: Change = Change::written("steps", |d| {
    moved(d, StepEvent::Finish, ", output = ?2, tokens_in = ?3, tokens_out = ?4, cost_nanos = ?5, ended_at = ?6")
});
pub(crate) static FAIL: Change = Change::written("steps", |d| {
    let set = ", error_class = ?2, error_message = ?3, retry_after_ms = ?4, error_detail = ?5, ended_at = ?6";
    moved(d, StepEvent::Fail, set)
});
pub(crate) static MARK_UNKNOWN: Change = Change::written("steps", |d| moved(d, StepEvent::MarkUnknown, ""));
/// Steps that can still get a result, also if their outcome is unknown.
pub(crate) static UNSETTLED: Lookup = Lookup::written(|_| {
    let condition = format!("id BETWEEN ?1 AND ?2 AND {}", guard(&STEP, StepEvent::Finish));
    ["id, state".into(), "steps".into(), condition, String::new()]
});

pub(crate) const COLUMNS: &str = "s.id, s.key, s.kind, s.name, s.turn, s.state, s.on_unknown, s.input, s.output, \
     s.error_class, s.error_message, s.retry_after_ms, s.error_detail, s.tokens_in, s.tokens_out, s.cost_nanos, \
     s.reused_from, s.started_at, s.ended_at";
pub(crate) static HISTORY: Lookup = Lookup::new(COLUMNS, "steps s", "s.id BETWEEN ?1 AND ?2", "s.id");

pub(crate) static NEWEST: Sql =
    Sql::new(|_| format!("SELECT {COLUMNS} FROM steps s WHERE s.id BETWEEN ?1 AND ?2 ORDER BY s.id DESC LIMIT ?3"));

/// A step that exists already stays as it is: the same write may arrive twice.
pub(crate) fn write<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, write: &'tx StepWrite) -> Result<()> {
    let id = |no: &u32| StepId::new(attempt.id, *no);
    let (id, changed, result, shared) = match write {
        StepWrite::Begin { no, intent } => {
            insert(batch, id(no), intent, Begun::Intent);
            return Ok(());
        }
        StepWrite::Reuse { no, intent, from, taken } => {
            insert(batch, id(no), intent, Begun::Reused(*from, taken.as_ref()));
            return Ok(());
        }
        StepWrite::Finish { no, result, shared } => (id(no), finish(batch, id(no), result), result, *shared),
        StepWrite::Whole { no, intent, result, took_ms } => {
            (id(no), insert(batch, id(no), intent, Begun::Whole(result, *took_ms)), result, intent.shared)
        }
    };
    // Only the first of two equal writes has been paid for.
    if let (true, StepResult::Done { usage, .. }) = (changed > 0, result) {
        batch.spend(attempt.run, *usage)?;
        if shared {
            batch.deferred.shared.push((attempt.run, id));
        }
    }
    Ok(())
}

/// How far a step is when its row is first written.
enum Begun<'a> {
    Intent,
    /// Made already, in so many milliseconds.
    Whole(&'a StepResult, i64),
    Reused(StepId, Option<&'a (Json, Usage)>),
}

fn insert<'tx>(batch: &mut Batch<'tx>, id: StepId, intent: &'tx StepIntent, begun: Begun<'tx>) -> usize {
    let (now, mut took_ms) = (batch.now, 0);
    let (mut output, mut failure, mut usage, mut reused_from) = (None, None, Usage::default(), None);
    let state = match begun {
        Begun::Intent => StepState::Intent,
        Begun::Reused(from, taken) => {
            reused_from = Some(from.0);
            if let Some((made, used)) = taken {
                (output, usage) = (Some(made.as_str()), *used);
            }
            StepState::Reused
        }
        Begun::Whole(StepResult::Done { output: made, usage: used }, took) => {
            took_ms = took;
            (output, usage) = (Some(made.as_str()), *used);
            goal(&STEP, StepEvent::Finish)
        }
        Begun::Whole(StepResult::Failed { failure: why }, took) => {
            took_ms = took;
            failure = Some(why);
            goal(&STEP, StepEvent::Fail)
        }
    };
    let ended_at = (state != StepState::Intent).then_some(now.0);
    let text = |text: Option<&'tx str>| text.map_or(Cell::Null, Cell::Text);
    let int = |int: Option<i64>| int.map_or(Cell::Null, Cell::Int);
    let row = [
        Cell::Int(id.0),
        Cell::Blob(&intent.key.0),
        Cell::Text(&intent.kind),
        Cell::Text(&intent.name),
        Cell::Int(intent.turn.into()),
        Cell::Int(code(state)),
        Cell::Int(code(intent.on_unknown)),
        Cell::Text(intent.input.as_str()),
        text(output),
        int(failure.map(|why| code(why.class))),
        text(failure.map(|why| why.message.as_str())),
        int(failure.and_then(|why| why.retry_after_ms)),
        text(failure.and_then(|why| why.detail.as_ref()).map(Json::as_str)),
        Cell::Int(usage.tokens_in),
        Cell::Int(usage.tokens_out),
        Cell::Int(usage.cost_nanos),
        int(reused_from),
        Cell::Int((now + -took_ms).0),
        int(ended_at),
    ];
    batch.deferred.begin(id.attempt(), id, state, row)
}

fn finish<'tx>(batch: &mut Batch<'tx>, id: StepId, result: &'tx StepResult) -> usize {
    let now = batch.now;
    let (row, failed) = match result {
        StepResult::Done { output, usage } => {
            let (id, output, now) = (Cell::Int(id.0), Cell::Text(output.as_str()), Cell::Int(now.0));
            let used = [usage.tokens_in, usage.tokens_out, usage.cost_nanos].map(Cell::Int);
            ([id, output, used[0], used[1], used[2], now], false)
        }
        StepResult::Failed { failure } => {
            let retry_after = failure.retry_after_ms.map_or(Cell::Null, Cell::Int);
            let detail = failure.detail.as_ref().map_or(Cell::Null, |detail| Cell::Text(detail.as_str()));
            let (class, message) = (Cell::Int(code(failure.class)), Cell::Text(&failure.message));
            ([Cell::Int(id.0), class, message, retry_after, detail, Cell::Int(now.0)], true)
        }
    };
    batch.deferred.finish(id.attempt(), id, row, failed)
}

/// Steps of the item's tries up to and including this one, oldest first.
pub(crate) fn history(conn: &Connection, attempt: AttemptId) -> Result<Vec<Step>> {
    let (first, _) = attempt.item().attempts();
    let mut stmt = conn.prepare_cached(&HISTORY)?;
    let found = stmt.query_map([first.first_step().0, attempt.last_step().0], from_row)?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn newest(conn: &Connection, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut stmt = conn.prepare_cached(&NEWEST)?;
    let found = stmt.query_map([attempt.first_step().0, attempt.last_step().0, limit], from_row)?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn from_row(row: &Row) -> backend::Result<Step> {
    let mut c = Cells::of(row);
    Ok(Step {
        id: StepId(c.get()?),
        key: c.key()?,
        kind: c.get()?,
        name: c.get()?,
        turn: c.get()?,
        state: c.coded()?,
        on_unknown: c.coded()?,
        input: c.json()?,
        output: c.maybe_json()?,
        failure: failure(&mut c)?,
        usage: c.usage()?,
        reused_from: c.get::<Option<i64>>()?.map(StepId),
        started_at: c.time()?,
        ended_at: c.maybe_time()?,
    })
}

fn failure(c: &mut Cells) -> backend::Result<Option<Failure>> {
    let (error, retry_after_ms, detail) = (c.error()?, c.get()?, c.maybe_json()?);
    Ok(error.map(|(class, message)| Failure { retry_after_ms, detail, ..Failure::new(class, message) }))
}
