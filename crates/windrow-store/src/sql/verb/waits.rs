//! Waits: what the items of a living session wait for before their next call. The rows are replaced
//! as a whole and go with their session.

use windrow_model::limit::Wait;
use windrow_model::{Json, RunId, SessionId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, params};
use crate::sql::cells::Cells;
use crate::sql::verb::sessions;

pub(crate) fn note_waits(tx: &Connection, session: SessionId, waits: &[Wait]) -> Result<()> {
    tx.lock("sessions", [session.0])?;
    sessions::live_session(tx, session)?;
    forget(tx, session)?;
    let mut insert = tx.prepare_cached("INSERT INTO waits VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for wait in waits {
        let hold = Json::of(&wait.hold);
        let until = wait.until.map(|until| until.0);
        insert.execute(params![session.0, wait.run.0, wait.resource, wait.items, hold.as_str(), until])?;
    }
    Ok(())
}

pub(crate) fn forget(tx: &Connection, session: SessionId) -> Result<()> {
    tx.prepare_cached("DELETE FROM waits WHERE session_id = ?1")?.execute([session.0])?;
    Ok(())
}

pub(crate) fn of_run(conn: &Connection, run: RunId) -> Result<Vec<Wait>> {
    let mut stmt = conn.prepare_cached(
        "SELECT resource, items, hold, until FROM waits WHERE run_id = ?1 ORDER BY session_id, resource",
    )?;
    let found = stmt.query_map([run.0], |row| {
        let mut c = Cells::of(row);
        Ok(Wait {
            run,
            resource: c.get()?,
            items: c.get()?,
            hold: c.parsed(Json::parse)?,
            until: c.get::<Option<i64>>()?.map(Time),
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}
