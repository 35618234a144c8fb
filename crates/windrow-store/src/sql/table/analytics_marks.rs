//! What the relay to analytics has to send that no event tells of. Nothing is marked before a database has had a relay.

use windrow_model::analytics::Relay;
use windrow_model::{ItemId, JobId, SessionId};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, NewRows, OptionalExtension};
use crate::sql::cells::Cells;

pub(crate) const READ: &str =
    "SELECT incarnation, event, event_at, revision, owner, owned_until, trouble, trouble_at FROM analytics_relay";
/// Marked once more, it has to be sent from its beginning.
pub(crate) static MARK: NewRows =
    NewRows::new("analytics_marks", "job_id, item_id, version, sent_to, since", "?1, ?2, 1, 0, 0")
        .or_replace("job_id, item_id", &["sent_to", "since"])
        .counting("version");

/// Items, or with `None` all items of a job.
pub(crate) fn mark(tx: &Connection, what: impl Iterator<Item = (JobId, Option<ItemId>)>) -> Result<()> {
    let rows: Vec<[Cell; 2]> = what.map(|(job, item)| [job.0, item.map_or(0, |item| item.0)].map(Cell::Int)).collect();
    if !rows.is_empty() && has_relay(tx)? {
        tx.execute_many(&MARK, &rows)?;
    }
    Ok(())
}

/// Events up to this one are about to be deleted: jobs of those that the relay has not read are sent as a whole.
pub(crate) fn mark_forgotten(tx: &Connection, up_to: i64) -> Result<()> {
    let Some(relay) = read(tx)?.filter(|relay| relay.event < up_to) else { return Ok(()) };
    let sql = "SELECT DISTINCT job_id FROM outbox WHERE id > ?1 AND id <= ?2";
    let jobs = ids(tx, sql, [relay.event, up_to])?;
    mark(tx, jobs.into_iter().map(|job| (JobId(job), None)))
}

pub(crate) fn has_relay(conn: &Connection) -> Result<bool> {
    let mut stmt = conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM analytics_relay)")?;
    Ok(stmt.query_row((), |row| row.get(0))?)
}

pub(crate) fn read(conn: &Connection) -> Result<Option<Relay>> {
    let mut stmt = conn.prepare_cached(READ)?;
    let relay = stmt.query_row((), |row| {
        let mut c = Cells::of(row);
        Ok(Relay {
            incarnation: c.get()?,
            event: c.get()?,
            event_at: c.time()?,
            revision: c.get()?,
            owner: c.get::<Option<i64>>()?.map(SessionId),
            owned_until: c.time()?,
            trouble: {
                let (trouble, at) = (c.get::<Option<String>>()?, c.maybe_time()?);
                trouble.zip(at)
            },
        })
    });
    Ok(relay.optional()?)
}

pub(crate) fn ids(tx: &Connection, sql: &str, of: [i64; 2]) -> Result<Vec<i64>> {
    let mut stmt = tx.prepare_cached(sql)?;
    Ok(stmt.query_map(of, |row| row.get(0))?.collect::<backend::Result<_>>()?)
}
