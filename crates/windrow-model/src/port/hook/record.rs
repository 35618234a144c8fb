//! Webhooks and their deliveries, as they are read and made.

use crate::ids::{HookId, JobId};
use crate::json::Json;
use crate::port::hook::topics::Topics;
use crate::time::Time;

/// Deliveries of one webhook that may wait; then it reads no further.
pub const MAX_PENDING: usize = 10_000;
/// Deliveries that are over and kept per webhook.
pub const LOGGED: usize = 1_000;
/// Events that the outbox keeps for a webhook that has not read them, beyond what it keeps anyway.
pub const HELD: i64 = 90_000;
/// How much longer than its timeout a delivery is its sender's.
pub const LEASE_MARGIN_MS: i64 = 5_000;

crate::vocabulary! {
    pub enum HookState {
        #[doc = "What it subscribes to is sent."]
        Active = "active",
        #[doc = "Nothing is sent; events wait until it is resumed."]
        Paused = "paused",
        #[doc = "Nothing is sent and nothing waits: its endpoint said that it is gone (410)."]
        Disabled = "disabled",
    }
}

crate::vocabulary! {
    pub enum DeliveryState {
        #[doc = "To be sent, or sent again."]
        Pending = "pending",
        #[doc = "Answered with a 2xx status."]
        Delivered = "delivered",
        #[doc = "Given up after the last try."]
        Failed = "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub id: HookId,
    /// Only events of this workspace; `None`: of all, and of the server itself.
    pub workspace: Option<String>,
    /// Only events of this job.
    pub job: Option<JobId>,
    pub url: String,
    pub topics: Topics,
    /// Results in one delivery, at most.
    pub batch: usize,
    pub timeout_ms: i64,
    pub state: HookState,
    /// Why it is disabled.
    pub reason: Option<String>,
    /// Name of the secret that signs; what it is is not in here.
    pub secret: String,
    /// Name of the secret before, which signs too until then.
    pub former: Option<(String, Time)>,
    /// The last event of the outbox that was read.
    pub cursor: i64,
    /// Tries in a row that failed.
    pub failures: u32,
    /// Nothing is sent before then.
    pub rests_until: Time,
    pub actor: String,
    pub created_at: Time,
}

impl Hook {
    pub fn lease_ms(&self) -> i64 {
        self.timeout_ms + LEASE_MARGIN_MS
    }

    /// The secrets that sign at this time, the newest first.
    pub fn secrets(&self, now: Time) -> Vec<&str> {
        let former = self.former.iter().filter(|(_, until)| now < *until).map(|(secret, _)| secret.as_str());
        std::iter::once(self.secret.as_str()).chain(former).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHook {
    pub id: HookId,
    pub workspace: Option<String>,
    pub job: Option<JobId>,
    pub url: String,
    pub topics: Topics,
    pub batch: usize,
    pub timeout_ms: i64,
    pub secret: String,
    pub actor: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookChange {
    Pause,
    /// A disabled one begins with what happens from now on.
    Resume,
    /// The former secret signs too until then.
    Rotate {
        secret: String,
        former_until: Time,
    },
}

/// One message to one webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: i64,
    pub hook: HookId,
    pub topic: String,
    pub data: Json,
    pub state: DeliveryState,
    pub tries: u32,
    /// When it is sent next, or again if its sender does not come back.
    pub due_at: Time,
    /// Every try, the oldest first.
    pub log: Vec<Try>,
    pub created_at: Time,
    pub ended_at: Option<Time>,
}

impl Delivery {
    /// The same for every try; receivers know a repetition by it. Two databases never share one.
    pub fn message_id(&self) -> String {
        format!("msg_{}_{}", self.hook.to_string().trim_start_matches("hook_"), self.id)
    }
}

/// The result of one attempt to send it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Try {
    pub at: Time,
    /// None where no answer came.
    pub status: Option<u16>,
    pub error: Option<String>,
    pub latency_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFilter {
    pub hook: Option<HookId>,
    pub state: Option<DeliveryState>,
    /// Newest first; continue below this one.
    pub before: Option<i64>,
    pub limit: usize,
}
