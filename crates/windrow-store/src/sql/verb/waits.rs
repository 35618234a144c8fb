//! Waits: what the items of a living session wait for before their next call. The rows are replaced
//! as a whole and go with their session.

use windrow_model::limit::Wait;
use windrow_model::{Json, RunId, SessionId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Connection, NewRows};
use crate::sql::cells::Cells;
use crate::sql::verb::sessions;

pub(crate) static NEW: NewRows =
    NewRows::new("waits", "session_id, run_id, resource, items, hold, until", "?1, ?2, ?3, ?4, ?5, ?6");

pub(crate) fn note_waits(tx: &Connection, session: SessionId, waits: &[Wait]) -> Result<()> {
    tx.lock("sessions", [session.0])?;
    sessions::live_session(tx, session)?;
    forget(tx, session)?;
    let holds: Vec<Json> = waits.iter().map(|wait| Json::of(&wait.hold)).collect();
    let rows = waits.iter().zip(&holds).map(|(wait, hold)| {
        let [session, run, items] = [session.0, wait.run.0, wait.items].map(Cell::Int);
        let until = wait.until.map_or(Cell::Null, |until| Cell::Int(until.0));
        [session, run, Cell::Text(&wait.resource), items, Cell::Text(hold.as_str()), until]
    });
    expect_rows(tx.execute_many(&NEW, &rows.collect::<Vec<_>>())?, waits.len(), "waits")
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
