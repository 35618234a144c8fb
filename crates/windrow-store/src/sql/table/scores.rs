//! An attempt's scores, kept twice where it showed some before it was done: the snapshot shows one
//! set until archiving moves it to the other.

use windrow_model::event::ScoreNote;
use windrow_model::step::Score;
use windrow_model::{AttemptId, ItemId};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, Row, params};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::verb::report::Batch;

#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// What was handed in at the end.
    Whole = 0,
    /// What was shown while it was still at work.
    Partial = 1,
}

/// As `Score::is_own`, of scores called `s`.
pub(crate) const OWN_COLUMN: &str = "instr(s.name, '@') = 0";

pub(crate) const KEEP: &str = "INSERT INTO scores (attempt_id, part, turn, name, verdict, value, reason, version) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (attempt_id, part, turn, name) DO UPDATE SET \
     verdict = excluded.verdict, value = excluded.value, reason = excluded.reason, version = excluded.version";

pub(crate) const NOTES: &str =
    "SELECT name, turn, verdict, value FROM scores WHERE attempt_id = ?1 AND part = 0 ORDER BY turn, name";

pub(crate) fn keep<'tx>(batch: &mut Batch<'tx>, attempt: AttemptId, part: Part, scores: &'tx [Score]) -> Result<()> {
    for score in scores {
        let (turn, verdict) = (i64::from(score.turn), code(score.verdict));
        let row = [
            Cell::Int(attempt.0),
            Cell::Int(part as i64),
            Cell::Int(turn),
            Cell::Text(&score.name),
            Cell::Int(verdict),
            score.value.map_or(Cell::Null, Cell::Real),
            Cell::Text(&score.reason),
            Cell::Text(&score.version),
        ];
        match &mut batch.deferred {
            Some(deferred) => drop(deferred.scores.insert((attempt, part as i64, turn, &score.name), row)),
            None => drop(batch.keep_score.on(batch.tx)?.execute(row)?),
        }
    }
    Ok(())
}

/// Columns of the snapshot that this attempt did not compute stay beside its own (E9, T15). One that it
/// computed in another version is called by name and version from now on.
pub(crate) fn carry_over(tx: &Connection, attempt: AttemptId) -> Result<()> {
    let mut stmt = tx.prepare_cached(
        "INSERT INTO scores (attempt_id, part, turn, name, verdict, value, reason, version)
         SELECT CAST(?1 AS BIGINT), 0, o.turn, CASE WHEN instr(o.name, '@') > 0 THEN o.name ELSE o.name || '@' || o.version END,
                o.verdict, o.value, o.reason, o.version
         FROM items i CROSS JOIN scores o ON o.attempt_id = i.archived AND o.part = i.archived_part
         WHERE i.id = ?2 AND o.attempt_id <> ?1 AND o.version <> '' AND NOT EXISTS (
             SELECT 1 FROM scores n WHERE n.attempt_id = ?1 AND n.part = 0 AND n.version = o.version
                AND n.name = CASE WHEN instr(o.name, '@') > 0 THEN substr(o.name, 1, instr(o.name, '@') - 1) ELSE o.name END) \
         ON CONFLICT (attempt_id, part, turn, name) DO NOTHING",
    )?;
    stmt.execute(params![attempt.0, attempt.item().0])?;
    Ok(())
}

pub(crate) fn forget(tx: &Connection, attempt: AttemptId, part: Part) -> Result<()> {
    tx.prepare_cached("DELETE FROM scores WHERE attempt_id = ?1 AND part = ?2")?
        .execute(params![attempt.0, part as i64])?;
    Ok(())
}

/// What each attempt handed in, by turn and name.
pub(crate) fn of_attempts(conn: &Connection, attempts: impl Iterator<Item = AttemptId>) -> Result<Vec<Vec<Score>>> {
    let sql = "SELECT name, version, turn, verdict, value, reason FROM scores WHERE attempt_id = ?1 AND part = 0 \
               ORDER BY turn, name";
    of_each(conn, sql, attempts.map(|attempt| attempt.0))
}

/// From what [`NOTES`] finds.
pub(crate) fn note_from(row: &Row) -> backend::Result<ScoreNote> {
    let mut c = Cells::of(row);
    Ok(ScoreNote { name: c.get()?, turn: c.get()?, verdict: c.coded()?, value: c.get()? })
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
    let sql = "SELECT s.name, s.version, s.turn, s.verdict, s.value, s.reason FROM items i CROSS JOIN scores s \
               ON s.attempt_id = i.archived AND s.part = i.archived_part WHERE i.id = ?1 ORDER BY s.turn, s.name";
    of_each(conn, sql, items.iter().map(|item| item.0))
}

fn of_each(conn: &Connection, sql: &str, ids: impl Iterator<Item = i64>) -> Result<Vec<Vec<Score>>> {
    let ids: Vec<[Cell; 1]> = ids.map(|id| [Cell::Int(id)]).collect();
    let mut found = vec![Vec::new(); ids.len()];
    conn.query_many(sql, &ids, |n, row| {
        found[n].push(from_cells(&mut Cells::of(row))?);
        Ok(())
    })?;
    Ok(found)
}
