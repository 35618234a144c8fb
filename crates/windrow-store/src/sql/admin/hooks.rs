//! Webhooks: added, changed, deleted, read.

use windrow_model::hook::{Hook, HookChange, HookState, NewHook};
use windrow_model::store::StoreError;
use windrow_model::{HookId, JobId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, OptionalExtension, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::table::journal;

const COLUMNS: &str = "id, workspace, job_id, url, topics, batch, timeout_ms, state, reason, secret, former_secret, \
     former_until, cursor, failures, rests_until, actor, created_at";
pub(crate) static BY_ID: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM webhooks WHERE id = ?1"));
pub(crate) static ALL: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM webhooks ORDER BY id DESC"));

pub(crate) fn add(tx: &Connection, hook: &NewHook, now: Time) -> Result<Hook> {
    let newest = journal::newest(tx)?;
    let mut stmt = tx.prepare_cached(
        "INSERT INTO webhooks (id, workspace, job_id, url, topics, batch, timeout_ms, state, secret, cursor, actor, \
         created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    stmt.execute(params![
        hook.id.0,
        hook.workspace,
        hook.job.map(|job| job.0),
        hook.url,
        hook.topics.to_string(),
        hook.batch as i64,
        hook.timeout_ms,
        HookState::Active.as_str(),
        hook.secret,
        newest,
        hook.actor,
        now.0,
    ])?;
    self::hook(tx, hook.id)
}

pub(crate) fn change(tx: &Connection, id: HookId, change: &HookChange) -> Result<Hook> {
    tx.lock("webhooks", [id.0])?;
    let before = hook(tx, id)?;
    let changed = match change {
        HookChange::Pause => set_state(tx, id, HookState::Paused, None)?,
        HookChange::Resume => {
            let cursor = match before.state {
                HookState::Disabled => journal::newest(tx)?,
                _ => before.cursor,
            };
            tx.prepare_cached(
                "UPDATE webhooks SET state = ?2, reason = NULL, cursor = ?3, failures = 0, rests_until = 0 WHERE id = ?1",
            )?
            .execute(params![id.0, HookState::Active.as_str(), cursor])?
        }
        HookChange::Rotate { secret, former_until } => tx
            .prepare_cached("UPDATE webhooks SET former_secret = secret, former_until = ?3, secret = ?2 WHERE id = ?1")?
            .execute(params![id.0, secret, former_until.0])?,
    };
    expect_rows(changed, 1, "webhook")?;
    hook(tx, id)
}

pub(crate) fn set_state(tx: &Connection, id: HookId, state: HookState, reason: Option<&str>) -> Result<usize> {
    let mut stmt = tx.prepare_cached("UPDATE webhooks SET state = ?2, reason = ?3 WHERE id = ?1")?;
    Ok(stmt.execute(params![id.0, state.as_str(), reason])?)
}

pub(crate) fn delete(tx: &Connection, id: HookId) -> Result<()> {
    hook(tx, id)?;
    tx.prepare_cached("DELETE FROM deliveries WHERE webhook_id = ?1")?.execute([id.0])?;
    tx.prepare_cached("DELETE FROM webhooks WHERE id = ?1")?.execute([id.0])?;
    Ok(())
}

pub(crate) fn hook(conn: &Connection, id: HookId) -> Result<Hook> {
    let mut stmt = conn.prepare_cached(&BY_ID)?;
    let found = stmt.query_row([id.0], |row| from_cells(&mut Cells::of(row))).optional()?;
    Ok(found.ok_or_else(|| StoreError::NotFound { what: "webhook", id: id.to_string() })?)
}

pub(crate) fn all(conn: &Connection) -> Result<Vec<Hook>> {
    let mut stmt = conn.prepare_cached(&ALL)?;
    let found = stmt.query_map((), |row| from_cells(&mut Cells::of(row)))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

fn from_cells(c: &mut Cells) -> backend::Result<Hook> {
    Ok(Hook {
        id: HookId(c.get()?),
        workspace: c.get()?,
        job: c.get::<Option<i64>>()?.map(JobId),
        url: c.get()?,
        topics: c.text_as()?,
        batch: c.get::<i64>()? as usize,
        timeout_ms: c.get()?,
        state: c.word()?,
        reason: c.get()?,
        secret: c.get()?,
        former: former(c)?,
        cursor: c.get()?,
        failures: c.get()?,
        rests_until: c.time()?,
        actor: c.get()?,
        created_at: c.time()?,
    })
}

fn former(c: &mut Cells) -> backend::Result<Option<(String, Time)>> {
    let (secret, until) = (c.get::<Option<String>>()?, c.maybe_time()?);
    Ok(secret.zip(until))
}
