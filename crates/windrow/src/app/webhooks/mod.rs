//! Webhooks: events are turned into deliveries by the store and sent from here, signed as Standard Webhooks
//! (<https://www.standardwebhooks.com>) says. A delivery is sent at least once; the store knows what is left.
//! What is in no outbox, such as an alert, is told with [`HookStore::announce`](windrow_model::hook::HookStore).

mod deliver;
mod message;
mod register;
mod secret;
mod send;
mod sign;

use windrow_model::Json;
use windrow_model::hook::{Hook, Try};

use crate::app::error::Result;
use crate::app::wiring::App;

pub use deliver::deliver;
pub use register::{delete, register, rotate};
pub use send::Sender;

/// Of a message that somebody sends to see whether it arrives.
const PING: &str = "ping";

/// Sends a message at once, beside those that wait; says what came of it.
pub async fn ping(app: &App, hook: &Hook) -> Result<Try> {
    let now = app.now();
    let id = format!("msg_{}_ping_{}", hook.id.to_string().trim_start_matches("hook_"), now.0);
    let data = Json::of(&serde_json::json!({ "webhook": hook.id }));
    Ok(Sender::new(app)?.send(hook, &id, message::body(PING, now, &data), now).await.0)
}
