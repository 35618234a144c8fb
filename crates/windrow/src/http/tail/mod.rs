//! The newest events, written once for all readers. Bounded by number and size; what is older is read from
//! the store.

pub mod written;

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use windrow_model::record::OutboxEvent;
use windrow_model::store::Store;

use written::Written;

const EVENTS: usize = 1_000;
const BYTES: usize = 8 << 20;
const PAGE: usize = 64;

pub struct Tail {
    kept: RwLock<Kept>,
    newest: watch::Sender<i64>,
}

struct Kept {
    /// Every event behind this one is in `events`.
    since: i64,
    events: VecDeque<Arc<Written>>,
    bytes: usize,
}

/// What follows an event.
pub enum Next {
    Here(Arc<Written>),
    NotYet,
    /// Only the store may know.
    Earlier,
}

impl Tail {
    /// Behind this event.
    pub fn behind(newest: i64) -> Self {
        let kept = Kept { since: newest, events: VecDeque::new(), bytes: 0 };
        Self { kept: RwLock::new(kept), newest: watch::Sender::new(newest) }
    }

    pub fn after(&self, cursor: i64) -> Next {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        if cursor < kept.since {
            return Next::Earlier;
        }
        let place = kept.events.partition_point(|event| event.id <= cursor);
        kept.events.get(place).map_or(Next::NotYet, |event| Next::Here(event.clone()))
    }

    /// Changes whenever there is more.
    pub fn newest(&self) -> watch::Receiver<i64> {
        self.newest.subscribe()
    }

    /// Takes in what the engine relays, for as long as it does.
    pub async fn follow(&self, store: Arc<dyn Store>, mut events: broadcast::Receiver<Arc<OutboxEvent>>) {
        loop {
            match events.recv().await {
                Ok(event) => {
                    // All that is there before anybody is woken: each wake is of all readers.
                    let more = std::iter::from_fn(|| events.try_recv().ok());
                    self.take(std::iter::once(event).chain(more));
                }
                Err(RecvError::Lagged(_)) => self.catch_up(&*store).await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn catch_up(&self, store: &dyn Store) {
        loop {
            let newest = *self.newest.borrow();
            match store.outbox(newest, PAGE).await {
                Ok(page) if page.is_empty() => return,
                Ok(page) => self.take(page.into_iter().map(Arc::new)),
                Err(error) => {
                    // Readers find what is missing in the store.
                    tracing::warn!(%error, "failed to read events for streams");
                    return;
                }
            }
        }
    }

    fn take(&self, events: impl Iterator<Item = Arc<OutboxEvent>>) {
        let mut newest = *self.newest.borrow();
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        for event in events.filter(|event| event.id > newest).collect::<Vec<_>>() {
            newest = event.id;
            kept.push(Written::new(&event));
        }
        drop(kept);
        self.newest.send_replace(newest);
    }
}

impl Kept {
    fn push(&mut self, event: Written) {
        self.bytes += event.size();
        self.events.push_back(Arc::new(event));
        while self.events.len() > EVENTS || self.bytes > BYTES && self.events.len() > 1 {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.size();
            self.since = oldest.id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windrow_model::{JobId, Json, RunId, Time};

    fn event(id: i64, bytes: usize) -> Arc<OutboxEvent> {
        let body = Json::of(&"x".repeat(bytes));
        let (job, run) = (JobId(1), RunId(1));
        Arc::new(OutboxEvent { id, at: Time(0), workspace: "w".into(), job, run, kind: "k".into(), body })
    }

    fn found(next: &Next) -> Option<i64> {
        match next {
            Next::Here(event) => Some(event.id),
            Next::NotYet => None,
            Next::Earlier => Some(-1),
        }
    }

    #[test]
    fn readers_find_what_is_kept_and_are_told_when_it_is_not() {
        let tail = Tail::behind(10);
        assert_eq!((found(&tail.after(10)), found(&tail.after(9))), (None, Some(-1)));
        // Numbers may be missing: the events of a job that was deleted.
        tail.take([event(11, 1), event(14, 1)].into_iter());
        let seen = [10, 11, 13, 14].map(|cursor| found(&tail.after(cursor)));
        assert_eq!(seen, [Some(11), Some(14), Some(14), None]);
        tail.take([event(14, 1)].into_iter());
        assert_eq!(found(&tail.after(14)), None, "one that was seen is not taken again");
    }

    #[test]
    fn the_tail_is_bounded_by_number_and_by_size() {
        let tail = Tail::behind(0);
        tail.take((1..=EVENTS as i64 + 5).map(|id| event(id, 1)));
        assert_eq!((found(&tail.after(4)), found(&tail.after(5))), (Some(-1), Some(6)));
        let large = Tail::behind(0);
        large.take((1..=4).map(|id| event(id, 3 << 20)));
        assert_eq!((found(&large.after(1)), found(&large.after(2))), (Some(-1), Some(3)), "two of them fit");
    }
}
