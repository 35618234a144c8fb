//! What is expected under which token. Two rows that ask the same have the same token; each call
//! that comes serves one of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// More than this, and those whose time is long over are thrown out.
const MANY: usize = 4096;

#[derive(Default)]
pub struct Slots {
    by_token: Mutex<HashMap<String, Slot>>,
}

struct Slot {
    /// How many are to come; those waiting are among them.
    expected: usize,
    waiting: usize,
    arrived: VecDeque<String>,
    bell: Arc<Notify>,
    until: Instant,
}

impl Slots {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.by_token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn expect(self: &Arc<Self>, token: &str, patience: Duration) -> Expected {
        let mut slots = self.lock();
        if slots.len() >= MANY {
            let now = Instant::now();
            slots.retain(|_, slot| slot.waiting > 0 || slot.until > now);
        }
        slots.entry(token.to_owned()).or_insert_with(|| Slot::new(patience)).expected += 1;
        Expected { slots: self.clone(), token: token.to_owned(), kept: false }
    }

    pub fn wait(self: &Arc<Self>, token: &str, patience: Duration) -> Waiting {
        let mut slots = self.lock();
        let slot = slots.entry(token.to_owned()).or_insert_with(|| Slot::new(patience));
        slot.waiting += 1;
        // After a restart no call here has expected it yet.
        slot.expected = slot.expected.max(slot.waiting);
        let bell = slot.bell.clone();
        Waiting { slots: self.clone(), token: token.to_owned(), bell }
    }

    /// False if no call expects it.
    pub fn deliver(&self, token: &str, body: String) -> bool {
        let mut slots = self.lock();
        let Some(slot) = slots.get_mut(token) else { return false };
        // A service that calls twice is thanked and not heard twice.
        if slot.arrived.len() < slot.expected {
            slot.arrived.push_back(body);
            slot.bell.notify_one();
        }
        true
    }
}

impl Slot {
    fn new(patience: Duration) -> Self {
        let until = Instant::now() + patience;
        Self { expected: 0, waiting: 0, arrived: VecDeque::new(), bell: Arc::default(), until }
    }
}

/// Given up when it is dropped, unless it is kept for the collecting step.
#[must_use]
pub struct Expected {
    slots: Arc<Slots>,
    token: String,
    kept: bool,
}

impl Expected {
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        if !self.kept {
            forget_one(&mut self.slots.lock(), &self.token);
        }
    }
}

pub struct Waiting {
    slots: Arc<Slots>,
    token: String,
    bell: Arc<Notify>,
}

impl Waiting {
    pub async fn within(&self, patience: Duration) -> Option<String> {
        let arrived = async {
            loop {
                if let Some(body) = self.take() {
                    return body;
                }
                self.bell.notified().await;
            }
        };
        match tokio::time::timeout(patience, arrived).await {
            Ok(body) => Some(body),
            Err(_) => self.take(),
        }
    }

    fn take(&self) -> Option<String> {
        self.slots.lock().get_mut(&self.token)?.arrived.pop_front()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get_mut(&self.token) {
            slot.waiting -= 1;
            // The bell may have rung for this one while another waits.
            slot.bell.notify_one();
        }
        forget_one(&mut slots, &self.token);
    }
}

fn forget_one(slots: &mut HashMap<String, Slot>, token: &str) {
    if let Some(slot) = slots.get_mut(token) {
        slot.expected = slot.expected.saturating_sub(1);
        if slot.expected == 0 {
            slots.remove(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn each_call_serves_one_that_waits() {
        let slots = Arc::new(Slots::default());
        assert!(!slots.deliver("a", "late".to_owned()));
        let (one, two) = (slots.expect("a", LONG), slots.expect("a", LONG));
        one.keep();
        two.keep();
        assert!(slots.deliver("a", "1".to_owned()));
        let first = slots.wait("a", LONG);
        assert_eq!(first.within(LONG).await.as_deref(), Some("1"));
        drop(first);
        let second = slots.wait("a", LONG);
        let told = slots.clone();
        let (came, _) = tokio::join!(second.within(LONG), async move { told.deliver("a", "2".to_owned()) });
        assert_eq!(came.as_deref(), Some("2"));
        drop(second);
        assert!(slots.lock().is_empty());
    }

    #[tokio::test]
    async fn what_is_given_up_is_not_expected_any_more() {
        let slots = Arc::new(Slots::default());
        drop(slots.expect("a", LONG));
        assert!(!slots.deliver("a", "late".to_owned()));
        let waiting = slots.wait("b", LONG);
        assert_eq!(waiting.within(Duration::ZERO).await, None);
        drop(waiting);
        assert!(slots.lock().is_empty());
    }
}
