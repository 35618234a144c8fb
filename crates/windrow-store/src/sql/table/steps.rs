//! Rows of steps: written by a worker's report, lost sight of when it is gone, read as history.

use windrow_model::failure::Failure;
use windrow_model::record::Step;
use windrow_model::state::{STEP, StepEvent, StepState};
use windrow_model::{AttemptId, StepId};

use crate::backend::failure::Result;
use crate::backend::{self, Change, Connection, Dialect, Lookup, NewRows, Row, Sql};
use crate::sql::cells::Cells;
use crate::sql::codes::{code, goal_code, guard, keyed_guard};

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
/// I6: what failed, of all that an attempt has done.
pub(crate) static FAILED: Sql = Sql::new(|_| {
    let failed = code(StepState::Failed);
    format!(
        "SELECT {COLUMNS} FROM steps s WHERE s.id BETWEEN ?1 AND ?2 AND s.state = {failed} ORDER BY s.id DESC LIMIT ?3"
    )
});

/// Steps of the item's tries up to and including this one, oldest first.
pub(crate) fn history(conn: &Connection, attempt: AttemptId) -> Result<Vec<Step>> {
    let (first, _) = attempt.item().attempts();
    let mut stmt = conn.prepare_cached(&HISTORY)?;
    let found = stmt.query_map([first.first_step().0, attempt.last_step().0], from_row)?;
    Ok(found.collect::<backend::Result<_>>()?)
}

/// `which` is [`NEWEST`] or [`FAILED`].
pub(crate) fn newest(conn: &Connection, which: &'static Sql, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut stmt = conn.prepare_cached(which)?;
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
