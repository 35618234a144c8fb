//! An attempt's scores, kept twice where it showed some before it was done: the snapshot shows one
//! set until archiving moves it to the other.

use windrow_model::event::ScoreNote;
use windrow_model::step::{Score, Usage};
use windrow_model::{AttemptId, ItemId};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, Dialect, Lookup, NewRows, Row, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::table::attempts::AttemptHead;

#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// What was handed in at the end.
    Whole = 0,
    /// What was shown while it was running.
    Partial = 1,
}

/// As `Score::is_own`, of scores called `s`.
pub(crate) fn own_column(d: Dialect) -> String {
    format!("{} = 0", d.position("s.name", "'@'"))
}

pub(crate) static KEEP: NewRows = NewRows::new(
    "scores",
    "attempt_id, part, turn, name, verdict, value, reason, version",
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8",
)
.or_replace("attempt_id, part, turn, name", &["verdict", "value", "reason", "version"]);

pub(crate) static NOTES: Lookup =
    Lookup::new("name, turn, verdict, value, reason", "scores", "attempt_id = ?1 AND part = 0", "turn, name");

/// For [`KEEP`].
pub(crate) fn row(attempt: AttemptId, part: Part, score: &Score) -> [Cell<'_>; 8] {
    [
        Cell::Int(attempt.0),
        Cell::Int(part as i64),
        Cell::Int(score.turn.into()),
        Cell::Text(&score.name),
        Cell::Int(code(score.verdict)),
        score.value.map_or(Cell::Null, Cell::Real),
        Cell::Text(&score.reason),
        Cell::Text(&score.version),
    ]
}

/// What a run has shown of an item that is still running.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    pub scores: Vec<Score>,
    pub usage: Usage,
    pub latency_ms: i64,
}

/// The snapshot of an item, as far as an attempt of its run made it.
pub(crate) static SHOWN: Lookup = Lookup::written(|d| {
    let shown = d.each_by_key("attempts", "a", "a.id = i.archived");
    let scores = "LEFT JOIN scores s ON s.attempt_id = i.archived AND s.part = i.archived_part";
    let columns = "a.latency_ms, a.tokens_in, a.tokens_out, a.cost_nanos, s.name, s.version, s.turn, s.verdict, \
                   s.value, s.reason";
    let condition = "i.id = ?1 AND a.run_id = ?2";
    [columns.into(), format!("items i {shown} {scores}"), condition.into(), "s.turn, s.name".into()]
});

/// What the run of each attempt has shown of its item.
pub(crate) fn shown<'a>(tx: &Connection, attempts: impl Iterator<Item = &'a AttemptHead>) -> Result<Vec<Shown>> {
    let keys: Vec<[Cell; 2]> = attempts.map(|last| [last.id.item().0, last.run.0].map(Cell::Int)).collect();
    let mut found = vec![Shown::default(); keys.len()];
    tx.query_many(&SHOWN, &keys, |n, row| {
        let mut c = Cells::of(row);
        (found[n].latency_ms, found[n].usage) = (c.get()?, c.usage()?);
        // Null where nothing was scored.
        if row.get::<Option<String>>(4)?.is_some() {
            found[n].scores.push(from_cells(&mut c)?);
        }
        Ok(())
    })?;
    Ok(found)
}

pub(crate) static CARRY_OVER: Sql = Sql::new(|d| {
    let at = d.position("o.name", "'@'");
    format!(
        "INSERT INTO scores (attempt_id, part, turn, name, verdict, value, reason, version) \
         SELECT {}, 0, o.turn, CASE WHEN {at} > 0 THEN o.name ELSE o.name || '@' || o.version END, \
                o.verdict, o.value, o.reason, o.version FROM items i {} \
         WHERE i.id = ?2 AND o.version <> '' AND NOT EXISTS ( \
             SELECT 1 FROM scores n WHERE n.attempt_id = ?1 AND n.part = 0 AND n.version = o.version \
                AND n.name = CASE WHEN {at} > 0 THEN substr(o.name, 1, {at} - 1) ELSE o.name END){}",
        d.int("?1"),
        d.each("scores", "o", "o.attempt_id = i.archived AND o.part = i.archived_part"),
        d.or_ignore("attempt_id, part, turn, name")
    )
});

/// Columns of the snapshot that this attempt did not compute are kept (E9, T15). One that it
/// computed in another version is called by name and version from now on.
pub(crate) fn carry_over(tx: &Connection, attempt: AttemptId) -> Result<()> {
    tx.prepare_cached(&CARRY_OVER)?.execute(params![attempt.0, attempt.item().0])?;
    Ok(())
}

pub(crate) fn forget(tx: &Connection, attempt: AttemptId, part: Part) -> Result<()> {
    tx.prepare_cached("DELETE FROM scores WHERE attempt_id = ?1 AND part = ?2")?
        .execute(params![attempt.0, part as i64])?;
    Ok(())
}

pub(crate) static OF_ATTEMPT: Lookup =
    Lookup::new("name, version, turn, verdict, value, reason", "scores", "attempt_id = ?1 AND part = 0", "turn, name");
pub(crate) static OF_ITEM: Lookup = Lookup::written(|d| {
    let scores = d.each("scores", "s", "s.attempt_id = i.archived AND s.part = i.archived_part");
    let columns = "s.name, s.version, s.turn, s.verdict, s.value, s.reason";
    [columns.into(), format!("items i {scores}"), "i.id = ?1".into(), "s.turn, s.name".into()]
});

/// What each attempt handed in, by turn and name.
pub(crate) fn of_attempts(conn: &Connection, attempts: impl Iterator<Item = AttemptId>) -> Result<Vec<Vec<Score>>> {
    of_each(conn, &OF_ATTEMPT, attempts.map(|attempt| attempt.0))
}

/// From what [`NOTES`] finds.
pub(crate) fn note_from(row: &Row) -> backend::Result<ScoreNote> {
    let mut c = Cells::of(row);
    let (name, turn, verdict, value) = (c.get()?, c.get()?, c.coded()?, c.get()?);
    Ok(ScoreNote::new(name, turn, verdict, value, &c.get::<String>()?))
}

/// Name, version, turn, verdict, value, reason.
pub(crate) fn from_cells(c: &mut Cells) -> backend::Result<Score> {
    Ok(Score {
        name: c.get()?,
        version: c.get()?,
        turn: c.get()?,
        verdict: c.coded()?,
        value: c.get()?,
        reason: c.get()?,
    })
}

/// The scores of each snapshot, by turn and name.
pub(crate) fn of_items(conn: &Connection, items: &[ItemId]) -> Result<Vec<Vec<Score>>> {
    of_each(conn, &OF_ITEM, items.iter().map(|item| item.0))
}

fn of_each(conn: &Connection, lookup: &Lookup, ids: impl Iterator<Item = i64>) -> Result<Vec<Vec<Score>>> {
    let ids: Vec<[Cell; 1]> = ids.map(|id| [Cell::Int(id)]).collect();
    let mut found = vec![Vec::new(); ids.len()];
    conn.query_many(lookup, &ids, |n, row| {
        found[n].push(from_cells(&mut Cells::of(row))?);
        Ok(())
    })?;
    Ok(found)
}
