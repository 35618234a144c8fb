//! Fan out: events of the outbox become deliveries of the webhooks that want them. Deliveries and cursor
//! are written together, so that no crash makes one of an event twice or never.

use windrow_model::Time;
use windrow_model::hook::{Announcement, Hook, HookState, MAX_PENDING, Message, gap, messages};
use windrow_model::record::OutboxEvent;

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Connection, NewRows, Sql};
use crate::sql::admin::hooks;
use crate::sql::cells::Cells;
use crate::sql::lock;
use crate::sql::table::journal;

/// An event of a deleted job is not delivered.
pub(crate) static EVENTS: Sql = Sql::new(|d| {
    format!(
        "SELECT o.id, o.at, j.workspace, o.job_id, o.run_id, o.kind, o.body, j.name FROM outbox o {} \
         WHERE o.id > ?1 AND o.id <= ?2 ORDER BY o.id",
        d.each_by_key("jobs", "j", "j.id = o.job_id")
    )
});
pub(crate) static NEW: NewRows =
    NewRows::new("deliveries", "webhook_id, topic, data, state, due_at, created_at", "?1, ?2, ?3, 'pending', ?4, ?4");
/// Never many more than may wait.
pub(crate) const PENDING: &str = "SELECT count(*) FROM deliveries WHERE webhook_id = ?1 AND state = 'pending'";

/// Whether a webhook has events to look at.
pub(crate) fn is_behind(conn: &Connection) -> Result<bool> {
    let newest = journal::newest(conn)?;
    let sql = "SELECT EXISTS (SELECT 1 FROM webhooks WHERE state <> 'disabled' AND cursor < ?1)";
    Ok(conn.prepare_cached(sql)?.query_row([newest], |row| row.get(0))?)
}

pub(crate) fn fan_out(tx: &Connection, limit: usize, now: Time) -> Result<bool> {
    let newest = journal::newest(tx)?;
    let (mut more, forgotten) = (false, journal::forgotten(tx)?);
    let hooks = lock::lock_and_recheck(tx, "webhooks", || hooks::all(tx), |hook| hook.id.0)?;
    for hook in hooks.iter().filter(|hook| hook.state != HookState::Disabled && hook.cursor < newest) {
        // A slow endpoint reads no further; the outbox keeps what it has not read.
        if pending(tx, hook)? >= MAX_PENDING {
            continue;
        }
        more |= read_on(tx, hook, limit, (forgotten, newest), now)?;
    }
    Ok(more)
}

fn read_on(tx: &Connection, hook: &Hook, limit: usize, (forgotten, newest): (i64, i64), now: Time) -> Result<bool> {
    let (mut after, mut told) = (hook.cursor, Vec::new());
    if forgotten > after {
        told.push(gap(after + 1, forgotten));
        after = forgotten;
    }
    let up_to = newest.min(after + limit as i64);
    told.extend(messages(hook, &events(tx, after, up_to)?));
    insert(tx, hook, &told, now)?;
    let sql = "UPDATE webhooks SET cursor = ?2 WHERE id = ?1";
    expect_rows(tx.prepare_cached(sql)?.execute([hook.id.0, up_to])?, 1, "cursor of a webhook")?;
    Ok(up_to < newest)
}

fn events(tx: &Connection, after: i64, up_to: i64) -> Result<Vec<(OutboxEvent, String)>> {
    let mut stmt = tx.prepare_cached(&EVENTS)?;
    let found = stmt.query_map([after, up_to], |row| {
        let mut c = Cells::of(row);
        Ok((journal::from_cells(&mut c)?, c.get()?))
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

fn pending(tx: &Connection, hook: &Hook) -> Result<usize> {
    let count: i64 = tx.prepare_cached(PENDING)?.query_row([hook.id.0], |row| row.get(0))?;
    Ok(count as usize)
}

pub(crate) fn announce(tx: &Connection, announcement: &Announcement, now: Time) -> Result<usize> {
    let mut told = 0;
    for hook in hooks::all(tx)?.iter().filter(|hook| hook.state != HookState::Disabled) {
        if announcement.concerns(hook) && pending(tx, hook)? < MAX_PENDING {
            let Announcement { topic, data, .. } = announcement.clone();
            insert(tx, hook, &[Message { topic, data }], now)?;
            told += 1;
        }
    }
    Ok(told)
}

fn insert(tx: &Connection, hook: &Hook, messages: &[Message], now: Time) -> Result<()> {
    let rows = messages.iter().map(|message| {
        let (topic, data) = (Cell::Text(&message.topic), Cell::Text(message.data.as_str()));
        [Cell::Int(hook.id.0), topic, data, Cell::Int(now.0)]
    });
    expect_rows(tx.execute_many(&NEW, &rows.collect::<Vec<_>>())?, messages.len(), "deliveries")
}
