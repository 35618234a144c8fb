//! Representations of webhooks and their deliveries. The secret is returned only when it is created.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::hook::{Delivery, DeliveryState, Hook, HookState, Try};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    pub id: String,
    pub url: String,
    /// Topics or topic patterns: `run.completed`, `run.*`, `*`.
    pub events: Vec<String>,
    /// Null for all workspaces and the server itself.
    pub workspace: Option<String>,
    /// Null for all jobs.
    pub job: Option<String>,
    /// Maximum number of results per delivery.
    pub batch: usize,
    pub timeout_ms: i64,
    pub state: HookState,
    /// Why the webhook is disabled.
    pub reason: Option<String>,
    /// Consecutive failed attempts.
    pub failures: u32,
    pub created_by: String,
    pub created_at: Timestamp,
}

impl From<&Hook> for Webhook {
    fn from(hook: &Hook) -> Self {
        Self {
            id: hook.id.to_string(),
            url: hook.url.clone(),
            events: hook.topics.words().to_vec(),
            workspace: hook.workspace.clone(),
            job: hook.job.map(|job| job.to_string()),
            batch: hook.batch,
            timeout_ms: hook.timeout_ms,
            state: hook.state,
            reason: hook.reason.clone(),
            failures: hook.failures,
            created_by: hook.actor.clone(),
            created_at: hook.created_at.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// Newest first.
    pub webhooks: Vec<Webhook>,
}

/// A webhook with its signing secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Returned only here.
    pub secret: String,
}

impl From<(Hook, String)> for WebhookSecret {
    fn from((hook, secret): (Hook, String)) -> Self {
        Self { webhook: Webhook::from(&hook), secret }
    }
}

/// A webhook to create.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Destination, `https://…` or `http://…`.
    #[schema(example = "https://example.com/hook")]
    pub url: String,
    /// Topics or topic patterns: `run.completed`, `run.*`, `items.archived`, `alert.*`, `*` (all).
    pub events: Option<Vec<String>>,
    /// Only events of this job, by name or id.
    pub job: Option<String>,
    /// Only events of this workspace.
    pub workspace: Option<String>,
    /// Maximum number of results per delivery.
    #[schema(minimum = 1, maximum = 1000, default = 100)]
    pub batch: Option<usize>,
    /// Timeout of the endpoint's response.
    #[schema(minimum = 1, maximum = 30, default = 10)]
    pub timeout_seconds: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RotateSecret {
    /// How long requests are also signed with the previous secret.
    #[schema(minimum = 0, maximum = 168, default = 24)]
    pub overlap_hours: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TryView {
    pub at: Timestamp,
    /// HTTP status of the endpoint; null without a response.
    pub status: Option<u16>,
    pub error: Option<String>,
    pub latency_ms: i64,
}

impl From<&Try> for TryView {
    fn from(tried: &Try) -> Self {
        Self { at: tried.at.into(), status: tried.status, error: tried.error.clone(), latency_ms: tried.latency_ms }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    pub id: i64,
    pub webhook: String,
    /// `webhook-id` of every attempt; receivers use it to detect duplicates.
    pub message: String,
    pub event: String,
    pub state: DeliveryState,
    pub tries: u32,
    /// When the next attempt is due, if any.
    pub next_at: Option<Timestamp>,
    /// The newest attempts, oldest first.
    pub log: Vec<TryView>,
    pub data: Json,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl From<&Delivery> for DeliveryView {
    fn from(delivery: &Delivery) -> Self {
        Self {
            id: delivery.id,
            webhook: delivery.hook.to_string(),
            message: delivery.message_id(),
            event: delivery.topic.clone(),
            state: delivery.state,
            tries: delivery.tries,
            next_at: (delivery.state == DeliveryState::Pending).then_some(delivery.due_at.into()),
            log: delivery.log.iter().map(TryView::from).collect(),
            data: delivery.data.clone(),
            created_at: delivery.created_at.into(),
            ended_at: delivery.ended_at.map(Into::into),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// Newest first.
    pub deliveries: Vec<DeliveryView>,
    /// Cursor for `before` to get the next page; null on the last page.
    pub next: Option<i64>,
}
