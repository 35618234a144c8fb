//! What the relay to analytics keeps in the database: how far it has read, and what it still has to send. Analytics is a
//! copy: losing it loses nothing, and nothing waits for it (T14).
//!
//! Most changes come to the relay as events of the outbox. What has no event is marked: labels, deleted jobs, and jobs
//! whose events were deleted before the relay had read them. A mark is removed only if it is still the one that was
//! read, so that a change during a transfer is sent again.

use async_trait::async_trait;

use crate::ids::{ItemId, JobId, SessionId};
use crate::port::store::Result;
use crate::time::Time;

/// The relay, of which each database has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relay {
    /// Names this copy of the database: an analytics database with another one is filled from the beginning.
    pub incarnation: String,
    /// The newest event that was sent.
    pub event: i64,
    pub event_at: Time,
    /// The newest number given to rows. Of two versions of a row, the one with the higher number counts.
    pub revision: i64,
    /// Who sends, and until when no other process does.
    pub owner: Option<SessionId>,
    pub owned_until: Time,
    /// Why nothing can be sent, and since when.
    pub trouble: Option<(String, Time)>,
}

/// Something to send that no event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub job: JobId,
    /// `None`: all items of the job.
    pub item: Option<ItemId>,
    /// Grows whenever it is marked again.
    pub version: i64,
    /// Items up to this one were sent.
    pub sent_to: ItemId,
    /// The number at which sending all items began; rows with lower ones are superfluous afterwards.
    pub since: i64,
}

/// What was sent, kept in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// The last event, and its time.
    pub event: Option<(i64, Time)>,
    /// Sent completely.
    pub done: Vec<Mark>,
    /// Jobs sent up to the item in `sent_to`.
    pub moved: Vec<Mark>,
    /// Jobs all of whose items have to be sent.
    pub jobs: Vec<JobId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayStatus {
    pub relay: Relay,
    /// The newest event of the outbox.
    pub newest: i64,
    /// Jobs and items that are marked.
    pub jobs: i64,
    pub items: i64,
}

impl RelayStatus {
    /// Events that were not sent yet.
    pub fn lag(&self) -> i64 {
        (self.newest - self.relay.event).max(0)
    }

    pub fn is_caught_up(&self) -> bool {
        self.lag() == 0 && self.jobs == 0 && self.items == 0
    }
}

#[async_trait]
pub trait AnalyticsStore: Send + Sync {
    /// Makes the caller the relay, or prolongs its lease; `None` while another has it. The first call marks all jobs:
    /// from then on changes are recorded.
    async fn lead_relay(
        &self,
        owner: SessionId,
        incarnation: String,
        lease_ms: i64,
        now: Time,
    ) -> Result<Option<Relay>>;
    /// The next number for rows, higher than `above`. Rows that have it must be read afterwards. `None`: another relays.
    async fn next_revision(&self, owner: SessionId, above: i64) -> Result<Option<i64>>;
    /// Oldest jobs first.
    async fn marks(&self, limit: usize) -> Result<Vec<Mark>>;
    /// False, and nothing is changed: another relays.
    async fn keep_sent(&self, owner: SessionId, sent: Sent) -> Result<bool>;
    /// What keeps the relay from sending; `None` when it can again.
    async fn note_trouble(&self, owner: SessionId, trouble: Option<String>, now: Time) -> Result<()>;
    /// Has one job sent again, or all. Returns how many; before the first relay nothing is marked.
    async fn mark_jobs(&self, job: Option<JobId>) -> Result<i64>;
    /// Lets another relay start at once.
    async fn leave_relay(&self, owner: SessionId) -> Result<()>;
    /// `None`: this database has never had a relay.
    async fn relay_status(&self) -> Result<Option<RelayStatus>>;
    /// Items that a worker executes now, of all runs.
    async fn running_items(&self, limit: usize) -> Result<Vec<(JobId, ItemId)>>;
}
