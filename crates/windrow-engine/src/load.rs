//! How many of its worker slots an engine uses (B12).

use std::sync::atomic::Ordering;

use crate::node::Node;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    pub workers: usize,
    /// Workers that execute an item.
    pub busy: usize,
    /// Claimed items that wait for a worker, and their maximum.
    pub queued: usize,
    pub queue: usize,
    /// The newest event that was relayed.
    pub relayed: i64,
}

impl Load {
    pub fn of(node: &Node) -> Self {
        let queued = node.workers.queue.len();
        Self {
            workers: node.settings.workers,
            busy: node.workers.inflight().len().saturating_sub(queued).min(node.settings.workers),
            queued,
            queue: node.settings.queue,
            relayed: node.relayed.load(Ordering::Relaxed),
        }
    }

    /// Whether an item claimed now would wait for a worker.
    pub fn is_full(&self) -> bool {
        self.busy >= self.workers
    }
}
