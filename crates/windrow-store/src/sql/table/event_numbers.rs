//! The numbers of events on a server. A writer leaves its events in `outbox_staged`, in the order of the run's commits,
//! since it holds the run. The first reader of events numbers what is committed, in a separate short transaction. So
//! readers have one cursor without gaps, no writer waits for another run's commit, and an event that commits late gets a
//! later number. A file has one writer and numbers events when they are written.

use windrow_model::JobId;

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, NewRows, OptionalExtension, Sql};

/// As many in one transaction.
const AT_ONCE: i64 = 1_000;

pub(crate) static STAGE: NewRows =
    NewRows::new("outbox_staged", "at, job_id, run_id, kind, body", "?1, ?2, ?3, ?4, ?5");
/// A reader that finds another at it does not wait: that one tells the others when it is done.
pub(crate) static TURN: Sql =
    Sql::new(|_| "SELECT last FROM sequences WHERE name = 'outbox' FOR UPDATE SKIP LOCKED".into());
pub(crate) const STAGED: &str = "SELECT id FROM outbox_staged ORDER BY id LIMIT ?1";
pub(crate) static NUMBER: NewRows = NewRows::written("outbox", "id, at, job_id, run_id, kind, body", |_| {
    let of_staged = |column: &str| format!("(SELECT {column} FROM outbox_staged WHERE id = ?2)");
    [format!("?1, {}", ["at", "job_id", "run_id", "kind", "body"].map(of_staged).join(", "))]
});
pub(crate) static UNSTAGE: Change = Change::delete("outbox_staged", "id = ?1");

/// Whether events are committed that have no number yet.
pub(crate) fn is_due(conn: &Connection) -> Result<bool> {
    if !conn.is_shared() {
        return Ok(false);
    }
    let mut stmt = conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM outbox_staged)")?;
    Ok(stmt.query_row((), |row| row.get(0))?)
}

pub(crate) fn is_due_for(conn: &Connection, job: JobId) -> Result<bool> {
    if !conn.is_shared() {
        return Ok(false);
    }
    let mut stmt = conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM outbox_staged WHERE job_id = ?1)")?;
    Ok(stmt.query_row([job.0], |row| row.get(0))?)
}

/// How many events were numbered; `None` if another is numbering them.
pub(crate) fn number(tx: &Connection) -> Result<Option<usize>> {
    let turn = tx.prepare_cached(&TURN)?.query_row((), |row| row.get::<i64>(0)).optional()?;
    let Some(last) = turn else { return Ok(None) };
    // Not locked: what others have staged and not committed is not waited for.
    let staged: Vec<i64> =
        tx.prepare_cached(STAGED)?.query_map([AT_ONCE], |row| row.get(0))?.collect::<backend::Result<_>>()?;
    if staged.is_empty() {
        return Ok(Some(0));
    }
    let rows: Vec<[Cell; 2]> = (last + 1..).zip(&staged).map(|(number, id)| [number, *id].map(Cell::Int)).collect();
    expect_rows(tx.execute_many(&NUMBER, &rows)?, rows.len(), "numbered events")?;
    let rows: Vec<[Cell; 1]> = staged.iter().map(|id| [Cell::Int(*id)]).collect();
    expect_rows(tx.execute_many(&UNSTAGE, &rows)?, rows.len(), "staged events")?;
    let mut stmt = tx.prepare_cached("UPDATE sequences SET last = ?1 WHERE name = 'outbox'")?;
    expect_rows(stmt.execute([last + rows.len() as i64])?, 1, "last number of an event")?;
    Ok(Some(staged.len()))
}

pub(crate) fn staged(conn: &Connection) -> Result<i64> {
    if !conn.is_shared() {
        return Ok(0);
    }
    Ok(conn.prepare_cached("SELECT count(*) FROM outbox_staged")?.query_row((), |row| row.get(0))?)
}
