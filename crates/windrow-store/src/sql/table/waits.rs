//! Waits: what the items of a living session wait for before their next call. The rows are replaced
//! as a whole and go with their session.

use windrow_model::limit::Wait;
use windrow_model::{Json, RunId, SessionId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, NewRows};
use crate::sql::cells::Cells;

pub(crate) static NEW: NewRows =
    NewRows::new("waits", "session_id, run_id, resource, items, hold, until", "?1, ?2, ?3, ?4, ?5, ?6");

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
