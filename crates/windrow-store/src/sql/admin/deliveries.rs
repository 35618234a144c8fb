//! Deliveries: claimed by a sender, redelivered on request, read, and deleted.

use windrow_model::hook::{Delivery, DeliveryFilter, DeliveryState, Hook, HookState, LOGGED};
use windrow_model::store::StoreError;
use windrow_model::{HookId, Json, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, OptionalExtension, Sql, named_params, params};
use crate::sql::admin::hooks;
use crate::sql::cells::Cells;
use crate::sql::lock;

const COLUMNS: &str = "id, webhook_id, topic, data, state, tries, due_at, log, created_at, ended_at";
pub(crate) static BY_ID: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM deliveries WHERE id = ?1"));

pub(crate) static FIRST_DUE: Sql = Sql::new(|_| {
    format!(
        "SELECT {COLUMNS} FROM deliveries WHERE webhook_id = ?1 AND state = 'pending' AND due_at <= ?2 \
         ORDER BY due_at, id LIMIT 1"
    )
});
pub(crate) const FIRST_AT: &str = "SELECT w.rests_until, \
     (SELECT min(d.due_at) FROM deliveries d WHERE d.webhook_id = w.id AND d.state = 'pending') \
     FROM webhooks w WHERE w.state = 'active'";
pub(crate) static OF_HOOK: Sql = Sql::new(|_| {
    format!(
        "SELECT {COLUMNS} FROM deliveries WHERE webhook_id = :hook AND id < :before \
         AND (state = :state OR :state IS NULL) ORDER BY id DESC LIMIT :limit"
    )
});
pub(crate) static OF_ALL: Sql = Sql::new(|d| {
    format!(
        "SELECT {COLUMNS} FROM deliveries WHERE id < :before AND (state = :state OR :state IS NULL) \
         AND {} IS NULL ORDER BY id DESC LIMIT :limit",
        d.int(":hook")
    )
});
pub(crate) static TAKE: Change =
    Change::update("deliveries", "tries = tries + 1, due_at = ?2", "id = ?1 AND state = 'pending'");
pub(crate) static REST: Change = Change::update("webhooks", "rests_until = ?2", "id = ?1");
/// The newest that is not kept.
pub(crate) const OLD: &str = "SELECT id FROM deliveries WHERE webhook_id = ?1 AND state <> 'pending' \
     ORDER BY id DESC LIMIT 1 OFFSET ?2";

/// One per webhook, whose next one waits until this one is settled or its sender is given up.
pub(crate) fn claim(tx: &Connection, limit: usize, now: Time) -> Result<Vec<(Hook, Delivery)>> {
    let mut claimed = Vec::new();
    let ready = |hook: &Hook| hook.state == HookState::Active && hook.rests_until <= now;
    let hooks = lock::lock_and_recheck(tx, "webhooks", || hooks::all(tx), |hook| hook.id.0)?;
    for hook in hooks.into_iter().rev().filter(ready) {
        if claimed.len() == limit {
            break;
        }
        let mut stmt = tx.prepare_cached(&FIRST_DUE)?;
        let found = stmt.query_row([hook.id.0, now.0], |row| from_cells(&mut Cells::of(row))).optional()?;
        let Some(delivery) = found else { continue };
        let until = now + hook.lease_ms();
        claimed.push((hook, Delivery { tries: delivery.tries + 1, due_at: until, ..delivery }));
    }
    let taken: Vec<_> = claimed.iter().map(|(_, taken)| [taken.id, taken.due_at.0].map(Cell::Int)).collect();
    expect_rows(tx.execute_many(&TAKE, &taken)?, taken.len(), "claimed deliveries")?;
    let resting: Vec<_> = claimed.iter().map(|(hook, taken)| [hook.id.0, taken.due_at.0].map(Cell::Int)).collect();
    expect_rows(tx.execute_many(&REST, &resting)?, resting.len(), "claimed webhooks")?;
    Ok(claimed)
}

/// Those of endpoints that rest count from the end of the rest.
pub(crate) fn next_at(conn: &Connection) -> Result<Option<Time>> {
    let mut stmt = conn.prepare_cached(FIRST_AT)?;
    let found = stmt.query_map((), |row| {
        let mut c = Cells::of(row);
        let (rests_until, due) = (c.time()?, c.maybe_time()?);
        Ok(due.map(|due| due.max(rests_until)))
    })?;
    let found: Vec<Option<Time>> = found.collect::<backend::Result<_>>()?;
    Ok(found.into_iter().flatten().min())
}

pub(crate) fn redeliver(tx: &Connection, id: i64, now: Time) -> Result<Delivery> {
    tx.lock("deliveries", [id])?;
    let before = delivery(tx, id)?;
    let sql = "UPDATE deliveries SET state = 'pending', due_at = ?2, ended_at = NULL WHERE id = ?1";
    // One that is out just now keeps its sender.
    if before.state != DeliveryState::Pending {
        expect_rows(tx.prepare_cached(sql)?.execute([id, now.0])?, 1, "delivery")?;
    }
    delivery(tx, id)
}

pub(crate) fn delivery(conn: &Connection, id: i64) -> Result<Delivery> {
    let mut stmt = conn.prepare_cached(&BY_ID)?;
    let found = stmt.query_row([id], |row| from_cells(&mut Cells::of(row))).optional()?;
    Ok(found.ok_or_else(|| StoreError::NotFound { what: "delivery", id: id.to_string() })?)
}

pub(crate) fn page(conn: &Connection, filter: &DeliveryFilter) -> Result<Vec<Delivery>> {
    let sql = if filter.hook.is_some() { &OF_HOOK } else { &OF_ALL };
    let mut stmt = conn.prepare_cached(sql)?;
    let found = stmt.query_map(
        named_params! {
            ":hook": filter.hook.map(|hook| hook.0),
            ":before": filter.before.unwrap_or(i64::MAX),
            ":state": filter.state.map(DeliveryState::as_str),
            ":limit": filter.limit as i64,
        },
        |row| from_cells(&mut Cells::of(row)),
    )?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn sweep(tx: &Connection) -> Result<i64> {
    let mut swept = 0;
    for hook in hooks::all(tx)? {
        let mut stmt = tx.prepare_cached(OLD)?;
        let old = stmt.query_row(params![hook.id.0, LOGGED as i64], |row| row.get::<i64>(0)).optional()?;
        let Some(old) = old else { continue };
        let sql = "DELETE FROM deliveries WHERE webhook_id = ?1 AND state <> 'pending' AND id <= ?2";
        swept += tx.prepare_cached(sql)?.execute([hook.id.0, old])? as i64;
    }
    Ok(swept)
}

fn from_cells(c: &mut Cells) -> backend::Result<Delivery> {
    Ok(Delivery {
        id: c.get()?,
        hook: HookId(c.get()?),
        topic: c.get()?,
        data: c.json()?,
        state: c.word()?,
        tries: c.get()?,
        due_at: c.time()?,
        log: c.parsed(Json::parse)?,
        created_at: c.time()?,
        ended_at: c.maybe_time()?,
    })
}
