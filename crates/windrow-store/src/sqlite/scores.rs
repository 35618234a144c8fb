//! An attempt's scores, kept twice where it showed some before it was done: the snapshot shows one
//! set until archiving moves it to the other.

use rusqlite::{Connection, Row, params};
use windrow_model::step::Score;
use windrow_model::{AttemptId, ItemId};

use super::cells::Cells;
use super::codes::code;
use super::fault::Result;
use super::report::Batch;

#[derive(Clone, Copy)]
pub(super) enum Part {
    /// What was handed in at the end.
    Whole = 0,
    /// What was shown while it was still at work.
    Partial = 1,
}

pub(super) const KEEP: &str = "INSERT OR REPLACE INTO scores (attempt_id, part, turn, name, verdict, value, reason) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(super) fn keep(batch: &mut Batch, attempt: AttemptId, part: Part, scores: &[Score]) -> Result<()> {
    for score in scores {
        let verdict = code(score.verdict);
        let row = params![attempt.0, part as i64, score.turn, score.name, verdict, score.value, score.reason];
        batch.keep_score.on(batch.tx)?.execute(row)?;
    }
    Ok(())
}

pub(super) fn forget(tx: &Connection, attempt: AttemptId, part: Part) -> Result<()> {
    tx.prepare_cached("DELETE FROM scores WHERE attempt_id = ?1 AND part = ?2")?
        .execute(params![attempt.0, part as i64])?;
    Ok(())
}

/// What an attempt handed in, by turn and name.
pub(super) fn of_attempt(conn: &Connection, attempt: AttemptId) -> Result<Vec<Score>> {
    let mut stmt = conn.prepare_cached(
        "SELECT name, turn, verdict, value, reason FROM scores WHERE attempt_id = ?1 AND part = ?2 ORDER BY turn, name",
    )?;
    let found = stmt.query_map(params![attempt.0, Part::Whole as i64], from_row)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row) -> rusqlite::Result<Score> {
    let mut c = Cells::of(row);
    Ok(Score { name: c.get()?, turn: c.get()?, verdict: c.coded()?, value: c.get()?, reason: c.get()? })
}

/// The snapshot's scores, by turn and name.
pub(super) fn of_item(conn: &Connection, item: ItemId) -> Result<Vec<Score>> {
    let mut stmt = conn.prepare_cached(
        "SELECT s.name, s.turn, s.verdict, s.value, s.reason FROM items i CROSS JOIN scores s \
         ON s.attempt_id = i.archived AND s.part = i.archived_part WHERE i.id = ?1 ORDER BY s.turn, s.name",
    )?;
    let found = stmt.query_map([item.0], from_row)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
