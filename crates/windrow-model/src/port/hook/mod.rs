//! Webhooks: which events go where over HTTP, and the port that stores what was sent.
//!
//! Rules every adapter keeps, and the suite checks:
//! - each webhook has its own cursor over the outbox. Events become deliveries and the cursor moves on in
//!   one transaction, so that a crash loses none and repeats none under another id;
//! - a delivery keeps its id over all its tries; it is out at most once at a time, under a lease, and only
//!   the holder of the latest try may report its result;
//! - what waits is bounded: a webhook that falls behind stops reading the outbox, and the outbox waits
//!   for it up to [`HELD`] events. Beyond that it is told of the gap.

mod message;
mod record;
mod retry;
mod topics;

pub use message::{Announcement, Message, gap, messages};
pub use record::{
    Delivery, DeliveryFilter, DeliveryState, HELD, Hook, HookChange, HookState, LEASE_MARGIN_MS, LOGGED, MAX_PENDING,
    NewHook, Try,
};
pub use retry::{Answer, DOWN, Decision, LAST_TRY, decide};
pub use topics::{BadTopic, GAP, Topics, known_topics};

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::HookId;
use crate::time::Time;

#[async_trait]
pub trait HookStore: Send + Sync {
    /// It is told of what happens from now on.
    async fn add_hook(&self, hook: NewHook, now: Time) -> Result<Hook>;
    async fn change_hook(&self, hook: HookId, change: HookChange, now: Time) -> Result<Hook>;
    /// With all its deliveries.
    async fn delete_hook(&self, hook: HookId) -> Result<()>;

    /// Turns events of the outbox into deliveries, at most this many events per webhook. Returns whether there is
    /// more to do.
    async fn fan_out(&self, limit: usize, now: Time) -> Result<bool>;
    /// Tells webhooks of something that is in no outbox, such as an alert. Returns to how many.
    async fn announce(&self, announcement: Announcement, now: Time) -> Result<usize>;
    /// Takes what is to be sent now, at most one per webhook and this many in all.
    async fn claim_deliveries(&self, limit: usize, now: Time) -> Result<Vec<(Hook, Delivery)>>;
    /// The result of an attempt. Ignored when another attempt has begun since.
    async fn settle_delivery(&self, claimed: &Delivery, tried: Try, decision: Decision, now: Time) -> Result<()>;
    /// Sends it again, with the same id.
    async fn redeliver(&self, delivery: i64, now: Time) -> Result<Delivery>;
    /// Forgets deliveries that are over, but for the newest [`LOGGED`] of each webhook.
    async fn sweep_deliveries(&self) -> Result<i64>;

    /// The newest first.
    async fn hooks(&self) -> Result<Vec<Hook>>;
    async fn hook(&self, hook: HookId) -> Result<Hook>;
    async fn delivery(&self, delivery: i64) -> Result<Delivery>;
    async fn deliveries(&self, filter: DeliveryFilter) -> Result<Vec<Delivery>>;
    /// When something is to be sent next, if anything waits.
    async fn next_delivery_at(&self) -> Result<Option<Time>>;
}
