//! An attempt's scores, kept twice where it showed some before it was done: the snapshot shows one
//! set until archiving moves it to the other.

use rusqlite::{Connection, Row, params};
use windrow_model::event::ScoreNote;
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

/// As `Score::is_own`, of scores called `s`.
pub(super) const OWN_COLUMN: &str = "instr(s.name, '@') = 0";

pub(super) const KEEP: &str = "INSERT OR REPLACE INTO scores (attempt_id, part, turn, name, verdict, value, reason, version) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

pub(super) const NOTES: &str =
    "SELECT name, turn, verdict, value FROM scores WHERE attempt_id = ?1 AND part = 0 ORDER BY turn, name";

pub(super) fn keep(batch: &mut Batch, attempt: AttemptId, part: Part, scores: &[Score]) -> Result<()> {
    for score in scores {
        let verdict = code(score.verdict);
        let row =
            params![attempt.0, part as i64, score.turn, score.name, verdict, score.value, score.reason, score.version];
        batch.keep_score.on(batch.tx)?.execute(row)?;
    }
    Ok(())
}

/// Columns of the snapshot that this attempt did not compute stay beside its own (E9, T15). One that it
/// computed in another version is called by name and version from now on.
pub(super) fn carry_over(tx: &Connection, attempt: AttemptId) -> Result<()> {
    let mut stmt = tx.prepare_cached(
        "INSERT OR IGNORE INTO scores (attempt_id, part, turn, name, verdict, value, reason, version)
         SELECT ?1, 0, o.turn, CASE WHEN instr(o.name, '@') THEN o.name ELSE o.name || '@' || o.version END,
                o.verdict, o.value, o.reason, o.version
         FROM items i CROSS JOIN scores o ON o.attempt_id = i.archived AND o.part = i.archived_part
         WHERE i.id = ?2 AND o.attempt_id <> ?1 AND o.version <> '' AND NOT EXISTS (
             SELECT 1 FROM scores n WHERE n.attempt_id = ?1 AND n.part = 0 AND n.version = o.version
                AND n.name = CASE WHEN instr(o.name, '@') THEN substr(o.name, 1, instr(o.name, '@') - 1) ELSE o.name END)",
    )?;
    stmt.execute(params![attempt.0, attempt.item().0])?;
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
        "SELECT name, version, turn, verdict, value, reason FROM scores WHERE attempt_id = ?1 AND part = ?2 ORDER BY turn, name",
    )?;
    let found = stmt.query_map(params![attempt.0, Part::Whole as i64], from_row)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// The same without versions and reasons.
pub(super) fn notes_of(conn: &Connection, attempt: AttemptId) -> Result<Vec<ScoreNote>> {
    let mut stmt = conn.prepare_cached(NOTES)?;
    let found = stmt.query_map([attempt.0], |row| {
        let mut c = Cells::of(row);
        Ok(ScoreNote { name: c.get()?, turn: c.get()?, verdict: c.coded()?, value: c.get()? })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row) -> rusqlite::Result<Score> {
    from_cells(&mut Cells::of(row))
}

/// Name, version, turn, verdict, value, reason.
pub(super) fn from_cells(c: &mut Cells) -> rusqlite::Result<Score> {
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
pub(super) fn of_items(conn: &Connection, items: impl IntoIterator<Item = ItemId>) -> Result<Vec<Vec<Score>>> {
    let mut stmt = conn.prepare_cached(
        "SELECT s.name, s.version, s.turn, s.verdict, s.value, s.reason FROM items i CROSS JOIN scores s \
         ON s.attempt_id = i.archived AND s.part = i.archived_part WHERE i.id = ?1 ORDER BY s.turn, s.name",
    )?;
    let of_item = |item: ItemId| Ok(stmt.query_map([item.0], from_row)?.collect::<rusqlite::Result<_>>()?);
    items.into_iter().map(of_item).collect()
}
