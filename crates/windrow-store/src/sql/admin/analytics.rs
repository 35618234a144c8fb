//! The relay to analytics: its lease, and how far it has come.

use windrow_model::analytics::{Mark, Relay, RelayStatus, Sent};
use windrow_model::state::AttemptState;
use windrow_model::{AttemptId, ItemId, JobId, SessionId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Change, Connection, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::table::analytics_marks::{has_relay, ids, mark, read};
use crate::sql::table::{event_numbers, journal};

/// The only row.
const ID: i64 = 1;
const JOBS_AT_ONCE: i64 = 10_000;

pub(crate) static BEGIN: Sql = Sql::new(|d| {
    let columns = "id, incarnation, event, event_at, revision, owned_until";
    format!("INSERT INTO analytics_relay ({columns}) VALUES ({ID}, ?1, ?2, ?3, 0, 0){}", d.or_ignore("id"))
});
pub(crate) static UNMARK: Change =
    Change::delete_where("analytics_marks", "job_id = ?1 AND item_id = ?2 AND version = ?3");
pub(crate) static MOVE: Change =
    Change::update("analytics_marks", "sent_to = ?4, since = ?5", "job_id = ?1 AND item_id = ?2 AND version = ?3");
pub(crate) static RUNNING: Sql = Sql::new(|d| {
    let on = format!("a.run_id = r.id AND a.state = {}", code(AttemptState::Running));
    let attempts = d.each_by_index("attempts", "a", "attempts_running", &on);
    format!("SELECT r.job_id, a.id FROM runs r {attempts} WHERE r.ended_at IS NULL ORDER BY a.id LIMIT ?1")
});

pub(crate) fn lead(
    tx: &Connection,
    owner: SessionId,
    incarnation: &str,
    lease_ms: i64,
    now: Time,
) -> Result<Option<Relay>> {
    if read(tx)?.is_none() {
        let newest = journal::newest(tx)?;
        tx.prepare_cached(&BEGIN)?.execute(params![incarnation, newest, now.0])?;
        mark_jobs(tx, None)?;
    }
    tx.lock("analytics_relay", [ID])?;
    let Some(relay) = read(tx)? else { return Ok(None) };
    let is_free = relay.owner.is_none_or(|other| other == owner) || relay.owned_until <= now;
    if !is_free && !has_ended(tx, relay.owner)? {
        return Ok(None);
    }
    let sql = "UPDATE analytics_relay SET owner = ?1, owned_until = ?2 WHERE id = 1";
    tx.prepare_cached(sql)?.execute([owner.0, now.0.saturating_add(lease_ms)])?;
    read(tx)
}

/// Whether the session of a relay has ended, so that its lease need not be waited for.
fn has_ended(conn: &Connection, owner: Option<SessionId>) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND ended_at IS NOT NULL)";
    let owner = owner.map_or(0, |owner| owner.0);
    Ok(conn.prepare_cached(sql)?.query_row([owner], |row| row.get(0))?)
}

/// Held until the commit, so that no other becomes the relay meanwhile.
fn is_led_by(tx: &Connection, owner: SessionId) -> Result<bool> {
    tx.lock("analytics_relay", [ID])?;
    Ok(read(tx)?.is_some_and(|relay| relay.owner == Some(owner)))
}

pub(crate) fn next_revision(tx: &Connection, owner: SessionId, above: i64) -> Result<Option<i64>> {
    if !is_led_by(tx, owner)? {
        return Ok(None);
    }
    let next = read(tx)?.map_or(0, |relay| relay.revision).max(above) + 1;
    tx.prepare_cached("UPDATE analytics_relay SET revision = ?1 WHERE id = 1")?.execute([next])?;
    Ok(Some(next))
}

pub(crate) fn keep_sent(tx: &Connection, owner: SessionId, sent: &Sent) -> Result<bool> {
    if !is_led_by(tx, owner)? {
        return Ok(false);
    }
    if let Some((event, at)) = sent.event {
        let sql = "UPDATE analytics_relay SET event = ?1, event_at = ?2 WHERE id = 1 AND event < ?1";
        tx.prepare_cached(sql)?.execute([event, at.0])?;
    }
    let key = |mark: &Mark| [mark.job.0, mark.item.map_or(0, |item| item.0), mark.version].map(Cell::Int);
    tx.execute_many(&UNMARK, &sent.done.iter().map(key).collect::<Vec<_>>())?;
    let moved = sent.moved.iter().map(|mark| {
        let [job, item, version] = key(mark);
        [job, item, version, Cell::Int(mark.sent_to.0), Cell::Int(mark.since)]
    });
    tx.execute_many(&MOVE, &moved.collect::<Vec<_>>())?;
    mark(tx, sent.jobs.iter().map(|job| (*job, None)))?;
    Ok(true)
}

pub(crate) fn note_trouble(tx: &Connection, owner: SessionId, trouble: Option<&str>, now: Time) -> Result<()> {
    if is_led_by(tx, owner)? {
        let sql = "UPDATE analytics_relay SET trouble = ?1, trouble_at = ?2 WHERE id = 1";
        tx.prepare_cached(sql)?.execute(params![trouble, trouble.map(|_| now.0)])?;
    }
    Ok(())
}

pub(crate) fn leave(tx: &Connection, owner: SessionId) -> Result<()> {
    let sql = "UPDATE analytics_relay SET owner = NULL, owned_until = 0 WHERE id = 1 AND owner = ?1";
    tx.prepare_cached(sql)?.execute([owner.0])?;
    Ok(())
}

pub(crate) fn mark_jobs(tx: &Connection, job: Option<JobId>) -> Result<i64> {
    if !has_relay(tx)? {
        return Ok(0);
    }
    if let Some(job) = job {
        mark(tx, std::iter::once((job, None)))?;
        return Ok(1);
    }
    let (mut after, mut marked) = (i64::MIN, 0);
    loop {
        let sql = "SELECT id FROM jobs WHERE id > ?1 ORDER BY id LIMIT ?2";
        let page = ids(tx, sql, [after, JOBS_AT_ONCE])?;
        let Some(last) = page.last() else { return Ok(marked) };
        (after, marked) = (*last, marked + page.len() as i64);
        mark(tx, page.into_iter().map(|job| (JobId(job), None)))?;
    }
}

pub(crate) fn marks(conn: &Connection, limit: usize) -> Result<Vec<Mark>> {
    let sql = "SELECT job_id, item_id, version, sent_to, since FROM analytics_marks ORDER BY job_id, item_id LIMIT ?1";
    let mut stmt = conn.prepare_cached(sql)?;
    let found = stmt.query_map([limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(Mark {
            job: JobId(c.get()?),
            item: Some(c.get::<i64>()?).filter(|item| *item != 0).map(ItemId),
            version: c.get()?,
            sent_to: ItemId(c.get()?),
            since: c.get()?,
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn status(conn: &Connection) -> Result<Option<RelayStatus>> {
    let Some(relay) = read(conn)? else { return Ok(None) };
    let newest = journal::newest(conn)? + event_numbers::staged(conn)?;
    let sql = "SELECT count(CASE WHEN item_id = 0 THEN 1 END), count(CASE WHEN item_id <> 0 THEN 1 END) \
         FROM analytics_marks";
    let (jobs, items) = conn.prepare_cached(sql)?.query_row((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(RelayStatus { relay, newest, jobs, items }))
}

pub(crate) fn running(conn: &Connection, limit: usize) -> Result<Vec<(JobId, ItemId)>> {
    let mut stmt = conn.prepare_cached(&RUNNING)?;
    let found = stmt.query_map([limit as i64], |row| {
        let (job, attempt): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok((JobId(job), AttemptId(attempt).item()))
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}
