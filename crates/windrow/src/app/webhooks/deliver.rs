//! The loop that delivers: events become deliveries, what is due is claimed and sent, one at a time per webhook
//! and some webhooks at the same time. It holds nothing but what is out: the store has the rest.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windrow_model::Clock;
use windrow_model::hook::{Delivery, Hook, HookStore, decide};

use crate::app::webhooks::message;
use crate::app::webhooks::send::Sender;

/// Messages out at the same time. A dead endpoint takes one place until its timeout, then rests.
const OUT: usize = 64;
/// Events read at once per webhook.
const PAGE: usize = 256;
/// Between two looks while events come in, so that results are sent in batches.
const GATHER: Duration = Duration::from_millis(100);
/// Between two looks otherwise: retries, alerts, webhooks that another process added.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Until `closed`; what is out then is waited for. `newest` changes when there are events.
pub async fn deliver(
    hooks: Arc<dyn HookStore>,
    clock: Arc<dyn Clock>,
    sender: Sender,
    mut newest: watch::Receiver<i64>,
    closed: impl Future<Output = ()>,
) {
    let mut out = JoinSet::new();
    let mut swept = Instant::now();
    tokio::pin!(closed);
    loop {
        if let Err(error) = send_what_is_due(&hooks, &clock, &sender, &mut out).await {
            tracing::warn!(%error, "failed to read due webhook deliveries, retrying");
        }
        if swept.elapsed() > SWEEP_EVERY {
            swept = Instant::now();
            if let Err(error) = hooks.sweep_deliveries().await {
                tracing::warn!(%error, "failed to trim the webhook log, retrying");
            }
        }
        tokio::select! {
            () = &mut closed => break,
            Some(_) = out.join_next() => {}
            () = news(&mut newest) => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    while out.join_next().await.is_some() {}
}

/// Returns some time after the first event that has come.
async fn news(newest: &mut watch::Receiver<i64>) {
    if newest.changed().await.is_err() {
        return std::future::pending().await;
    }
    tokio::time::sleep(GATHER).await;
}

async fn send_what_is_due(
    hooks: &Arc<dyn HookStore>,
    clock: &Arc<dyn Clock>,
    sender: &Sender,
    out: &mut JoinSet<()>,
) -> windrow_model::store::Result<()> {
    while hooks.fan_out(PAGE, clock.now()).await? {}
    let places = OUT.saturating_sub(out.len());
    if places == 0 {
        return Ok(());
    }
    for (hook, delivery) in hooks.claim_deliveries(places, clock.now()).await? {
        out.spawn(send(hooks.clone(), clock.clone(), sender.clone(), hook, delivery));
    }
    Ok(())
}

async fn send(hooks: Arc<dyn HookStore>, clock: Arc<dyn Clock>, sender: Sender, hook: Hook, delivery: Delivery) {
    let body = message::body(&delivery.topic, delivery.created_at, &delivery.data);
    let (tried, answer) = sender.send(&hook, &delivery.message_id(), body, clock.now()).await;
    let now = clock.now();
    let decision = decide(answer, delivery.tries, hook.failures, fastrand::f64(), now);
    if let Some(error) = &tried.error {
        tracing::warn!(webhook = %hook.id, delivery = delivery.id, tries = delivery.tries, error, "webhook delivery failed");
    }
    // Where this is not heard, the lease ends and the message is sent again, under the same id.
    if let Err(error) = hooks.settle_delivery(&delivery, tried, decision, now).await {
        tracing::warn!(webhook = %hook.id, %error, "failed to store the outcome of a webhook delivery");
    }
}
