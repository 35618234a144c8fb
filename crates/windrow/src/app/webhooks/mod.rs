//! Webhooks: the store turns events into deliveries, which are sent from here, signed as Standard Webhooks
//! (<https://www.standardwebhooks.com>) defines. A delivery is sent at least once; the store knows what is left.
//! What is in no outbox, such as an alert, is announced with [`HookStore::announce`](windrow_model::hook::HookStore).

pub mod callback;
mod deliver;
mod message;
mod register;
mod secret;
mod send;
mod sign;

use windrow_model::hook::{Delivery, DeliveryFilter};
use windrow_model::{HookId, Json};
use windrow_wire::{DeliveryList, DeliveryView, TryView};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::Result;

pub use deliver::deliver;
pub use register::{delete, find, list, register, rotate, set_state};
pub use send::Sender;

/// The event of a test delivery.
const PING: &str = "ping";

/// Sends a test delivery at once, before those that are queued, and returns its outcome.
pub async fn ping(app: &App, actor: &Actor, id: HookId) -> Result<TryView> {
    let (hook, now) = (find(app, actor, id).await?, app.now());
    let id = format!("msg_{}_ping_{}", hook.id.to_string().trim_start_matches("hook_"), now.0);
    let data = Json::of(&serde_json::json!({ "webhook": hook.id }));
    let tried = Box::pin(Sender::new(app)?.send(&hook, &id, message::body(PING, now, &data), now)).await.0;
    Ok(TryView::from(&tried))
}

/// Of one webhook, the newest first.
pub async fn deliveries(app: &App, actor: &Actor, id: HookId, filter: DeliveryFilter) -> Result<DeliveryList> {
    let (hook, limit) = (find(app, actor, id).await?, filter.limit);
    let found = app.hooks.deliveries(DeliveryFilter { hook: Some(hook.id), ..filter }).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|delivery| delivery.id);
    Ok(DeliveryList { deliveries: found.iter().map(DeliveryView::from).collect(), next })
}

pub async fn delivery(app: &App, actor: &Actor, id: i64) -> Result<DeliveryView> {
    Ok(DeliveryView::from(&find_delivery(app, actor, id).await?))
}

/// Sends it again under the same id.
pub async fn redeliver(app: &App, change: &Change, id: i64) -> Result<DeliveryView> {
    let found = find_delivery(app, &change.actor, id).await?;
    Ok(DeliveryView::from(&app.hooks.redeliver(found.id, app.now()).await?))
}

async fn find_delivery(app: &App, actor: &Actor, id: i64) -> Result<Delivery> {
    let delivery = app.hooks.delivery(id).await?;
    find(app, actor, delivery.hook).await?;
    Ok(delivery)
}
