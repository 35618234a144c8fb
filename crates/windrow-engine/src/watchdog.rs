//! B11: replaces a dispatcher that is stuck or whose queue grows scan after scan. All its state is in the store, so
//! nothing is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::coordinate::dispatch;
use crate::node::Node;
use crate::settings::Settings;

/// Runs the dispatcher and watches it.
pub async fn watch(node: Arc<Node>) {
    loop {
        // Dropping the set ends the dispatcher in it.
        let mut dispatcher = JoinSet::new();
        dispatcher.spawn(dispatch(node.clone()));
        let reason = observe(&node, &mut dispatcher).await;
        tracing::error!(reason, "restarting the dispatcher");
        node.workers.meters.restarts.increment(1);
        // After a pause: the cause may persist.
        tokio::time::sleep(Duration::from_millis(node.settings.poll_ms)).await;
    }
}

/// Returns why the dispatcher must be replaced.
async fn observe(node: &Node, dispatcher: &mut JoinSet<()>) -> &'static str {
    let watch = Duration::from_millis(node.settings.watch_ms);
    let mut symptoms = Symptoms::default();
    loop {
        if tokio::time::timeout(watch, dispatcher.join_next()).await.is_ok() {
            return "it panicked";
        }
        let rounds = node.rounds.load(Ordering::Relaxed);
        if let Some(reason) = symptoms.see(rounds, node.workers.queue.len(), &node.settings) {
            return reason;
        }
    }
}

#[derive(Default)]
struct Symptoms {
    rounds: u64,
    still_ms: u64,
    queued: usize,
    growing: u32,
}

impl Symptoms {
    fn see(&mut self, rounds: u64, queued: usize, settings: &Settings) -> Option<&'static str> {
        self.still_ms = if rounds == self.rounds { self.still_ms + settings.watch_ms } else { 0 };
        self.growing = if queued > self.queued { self.growing + 1 } else { 0 };
        (self.rounds, self.queued) = (rounds, queued);
        if self.still_ms >= settings.stuck_ms {
            Some("it is stuck")
        } else if self.growing >= settings.growing {
            Some("its queue kept growing")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatcher_that_stands_still_is_noticed() {
        let settings = Settings { watch_ms: 1_000, stuck_ms: 3_000, ..Default::default() };
        let mut symptoms = Symptoms::default();
        assert_eq!(symptoms.see(7, 0, &settings), None);
        assert_eq!(symptoms.see(7, 0, &settings), None);
        assert_eq!(symptoms.see(7, 0, &settings), None);
        assert_eq!(symptoms.see(7, 0, &settings), Some("it is stuck"));
    }

    #[test]
    fn a_queue_that_grows_ten_scans_in_a_row_is_noticed() {
        let settings = Settings::default();
        let mut symptoms = Symptoms::default();
        let seen: Vec<_> = (1..=10).map(|n| symptoms.see(n as u64, n, &settings)).collect();
        assert_eq!(seen[..9], [None; 9]);
        assert_eq!(seen[9], Some("its queue kept growing"));
        let mut symptoms = Symptoms::default();
        assert!((1..100).all(|n| symptoms.see(n as u64, (n % 9) as usize, &settings).is_none()));
    }
}
