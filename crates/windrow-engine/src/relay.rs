//! Step 9: events of the outbox are broadcast to subscribers. The outbox is the truth: a subscriber that falls behind
//! misses broadcasts and reads the store from the last event it saw.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windrow_model::record::OutboxEvent;
use windrow_model::store::Result;

use crate::node::Node;

/// How many relayed events are kept, by number and by size.
const KEPT: i64 = 10_000;
const KEPT_BYTES: usize = 64 << 20;
/// Deleting is a write, so it is done in batches.
const STRIDE: i64 = KEPT / 10;
const PAGE: usize = 64;

pub async fn relay(node: Arc<Node>) {
    let mut relay: Option<Relay> = None;
    loop {
        match step(&node, &mut relay).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "failed to read the outbox, retrying"),
        }
        let poll = Duration::from_millis(node.settings.poll_ms);
        let _ = tokio::time::timeout(poll, node.outbox_changed.notified()).await;
    }
}

/// Whether there were events.
async fn step(node: &Node, relay: &mut Option<Relay>) -> Result<bool> {
    let relay = match relay {
        Some(relay) => relay,
        // Earlier events were relayed by another engine, or are read from the store.
        unknown => {
            let reach = node.store.outbox_reach().await?;
            unknown.insert(Relay { seen: reach.newest, forgotten: reach.forgotten, kept: VecDeque::new(), bytes: 0 })
        }
    };
    let events = node.store.outbox(relay.seen, PAGE).await?;
    let found = !events.is_empty();
    for event in events {
        relay.note(&event);
        node.relayed.store(event.id, Ordering::Relaxed);
        // An error means that nothing subscribes.
        let _ = node.events.send(Arc::new(event));
    }
    node.relayed.store(relay.seen, Ordering::Relaxed);
    if let Some(up_to) = relay.superfluous() {
        node.store.forget_outbox(up_to).await?;
        relay.forget(up_to);
    }
    Ok(found)
}

struct Relay {
    seen: i64,
    forgotten: i64,
    /// Id and size of the relayed events that are kept.
    kept: VecDeque<(i64, usize)>,
    bytes: usize,
}

impl Relay {
    fn note(&mut self, event: &OutboxEvent) {
        let size = event.body.as_str().len();
        self.seen = event.id;
        self.bytes += size;
        self.kept.push_back((event.id, size));
    }

    /// The last event to delete, once a batch of them can go.
    fn superfluous(&self) -> Option<i64> {
        let mut up_to = self.seen - KEPT;
        let mut bytes = self.bytes;
        for (id, size) in &self.kept {
            if bytes <= KEPT_BYTES {
                break;
            }
            bytes -= size;
            up_to = up_to.max(*id);
        }
        let too_large = self.bytes > KEPT_BYTES + KEPT_BYTES / 10;
        (up_to > self.forgotten + STRIDE || too_large).then_some(up_to)
    }

    fn forget(&mut self, up_to: i64) {
        self.forgotten = up_to;
        let kept = self.kept.partition_point(|(id, _)| *id <= up_to);
        self.bytes -= self.kept.drain(..kept).map(|(_, size)| size).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windrow_model::{JobId, Json, RunId, Time};

    fn relayed(events: i64, bytes: usize) -> Relay {
        let mut relay = Relay { seen: 0, forgotten: 0, kept: VecDeque::new(), bytes: 0 };
        for id in 1..=events {
            let body = Json::from_text("x".repeat(bytes));
            let (job, run) = (JobId(1), RunId(1));
            relay.note(&OutboxEvent { id, at: Time(0), workspace: "w".into(), job, run, kind: "k".into(), body });
        }
        relay
    }

    #[test]
    fn small_events_are_kept_by_number_and_large_ones_by_size() {
        assert_eq!(relayed(KEPT + STRIDE, 10).superfluous(), None);
        assert_eq!(relayed(KEPT + STRIDE + 1, 10).superfluous(), Some(STRIDE + 1));
        let mut large = relayed(80, 1 << 20);
        assert_eq!(large.superfluous(), Some(16), "64 of them fit");
        large.forget(16);
        assert_eq!((large.superfluous(), large.bytes, large.kept.len()), (None, 64 << 20, 64));
    }
}
