//! The port for wake-ups between nodes. It only spares them waiting: a ring may get lost, so whoever listens also
//! looks by himself now and then.

use async_trait::async_trait;

#[async_trait]
pub trait Bell: Send + Sync {
    /// Tells the other nodes that something changed. Does not wait; rings close together are one.
    fn ring(&self);
    /// Returns when another node has rung since this was asked last.
    async fn heard(&self);
}
