//! Settle: the result of a delivery attempt. The delivery, its log and the state of its endpoint change together.

use windrow_model::hook::{DOWN, Decision, Delivery, DeliveryState, HookState, Try};
use windrow_model::{HookId, Json, Time};

use crate::backend::failure::Result;
use crate::backend::{Connection, params};
use crate::sql::admin::{deliveries, hooks};

/// Attempts that are kept in the log; manual redeliveries would make it grow without a bound.
const MOST_TRIES: usize = 20;
const GONE: &str = "its endpoint answered 410: gone";

pub(crate) fn settle(tx: &Connection, claimed: &Delivery, tried: Try, decision: Decision, now: Time) -> Result<()> {
    tx.lock("deliveries", [claimed.id])?;
    let before = deliveries::delivery(tx, claimed.id)?;
    // Its sender took too long, and another has it.
    if before.state != DeliveryState::Pending || before.tries != claimed.tries {
        return Ok(());
    }
    let mut log = before.log;
    log.push(tried);
    log.drain(..log.len().saturating_sub(MOST_TRIES));
    let (state, due_at) = match decision {
        Decision::Delivered => (DeliveryState::Delivered, now),
        Decision::Again { due_at, .. } => (DeliveryState::Pending, due_at),
        Decision::GiveUp { .. } | Decision::Gone => (DeliveryState::Failed, now),
    };
    let ended_at = (state != DeliveryState::Pending).then_some(now.0);
    tx.prepare_cached("UPDATE deliveries SET state = ?2, due_at = ?3, log = ?4, ended_at = ?5 WHERE id = ?1")?
        .execute(params![claimed.id, state.as_str(), due_at.0, Json::of(&log).as_str(), ended_at])?;
    match decision {
        Decision::Delivered => recover(tx, claimed.hook, now),
        Decision::Again { rests_until, .. } | Decision::GiveUp { rests_until } => rest(tx, claimed.hook, rests_until),
        Decision::Gone => {
            hooks::set_state(tx, claimed.hook, HookState::Disabled, Some(GONE))?;
            let sql =
                "UPDATE deliveries SET state = 'failed', ended_at = ?2 WHERE webhook_id = ?1 AND state = 'pending'";
            tx.prepare_cached(sql)?.execute([claimed.hook.0, now.0])?;
            Ok(())
        }
    }
}

/// An endpoint that was down and is back gets at once what has been waiting for it.
fn recover(tx: &Connection, hook: HookId, now: Time) -> Result<()> {
    if hooks::hook(tx, hook)?.failures >= DOWN {
        let sql = "UPDATE deliveries SET due_at = ?2 WHERE webhook_id = ?1 AND state = 'pending' AND due_at > ?2";
        tx.prepare_cached(sql)?.execute([hook.0, now.0])?;
    }
    tx.prepare_cached("UPDATE webhooks SET failures = 0, rests_until = 0 WHERE id = ?1")?.execute([hook.0])?;
    Ok(())
}

fn rest(tx: &Connection, hook: HookId, until: Time) -> Result<()> {
    let sql = "UPDATE webhooks SET failures = failures + 1, rests_until = ?2 WHERE id = ?1";
    tx.prepare_cached(sql)?.execute([hook.0, until.0])?;
    Ok(())
}
