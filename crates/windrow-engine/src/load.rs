//! How much of its places an engine uses at a moment (B12).

use std::sync::atomic::Ordering;

use crate::node::Node;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    pub workers: usize,
    /// Workers that have an item.
    pub busy: usize,
    /// Claimed items that wait for a worker, and how many may.
    pub queued: usize,
    pub queue: usize,
    /// The newest event that was relayed.
    pub relayed: i64,
}

impl Load {
    pub fn of(node: &Node) -> Self {
        let queued = node.pool.queued();
        Self {
            workers: node.settings.workers,
            busy: node.inflight().len().saturating_sub(queued).min(node.settings.workers),
            queued,
            queue: node.settings.queue,
            relayed: node.relayed.load(Ordering::Relaxed),
        }
    }

    /// Whether an item that is claimed now would have to wait for another one to end.
    pub fn is_full(&self) -> bool {
        self.busy >= self.workers
    }
}
