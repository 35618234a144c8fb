//! The port for notifications between nodes. Notifications are best effort; nodes also poll.

use async_trait::async_trait;

#[async_trait]
pub trait Bell: Send + Sync {
    /// Notifies the other nodes of a change. Does not wait; calls in quick succession are combined.
    fn ring(&self);
    /// Returns when another node has sent a notification since the last call.
    async fn heard(&self);
}
