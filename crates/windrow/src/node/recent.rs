//! Numbers that take a walk over many rows, computed once for all who ask at about the same time. They may be
//! as old as some multiple of the time they took: what is cheap is always fresh, and what is dear costs a
//! bounded share of the machine however often it is asked for.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Computing takes at most a twentieth of one core.
const SHARE: u32 = 20;
/// Of more keys than this, those that are out of date are forgotten.
const KEYS: usize = 1_000;

pub struct Recent<K, V> {
    entries: Mutex<HashMap<K, Entry<V>>>,
}

struct Entry<V> {
    value: Option<Arc<V>>,
    computed: Instant,
    took: Duration,
    /// One caller computes it again; until then the others get the earlier value, or wait for the first.
    renewing: bool,
    renewed: Arc<Notify>,
}

/// What one who asks is to do.
enum Turn<V> {
    Take(Arc<V>),
    Compute,
    Wait(OwnedNotified),
}

impl<V> Entry<V> {
    fn is_fresh(&self, now: Instant) -> bool {
        now < self.computed + self.took * SHARE
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { entries: Mutex::default() }
    }
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub async fn get<E>(&self, key: K, compute: impl Future<Output = Result<V, E>>) -> Result<Arc<V>, E> {
        let asked = Instant::now();
        loop {
            match self.turn(&key, asked) {
                Turn::Take(value) => return Ok(value),
                Turn::Compute => break,
                Turn::Wait(renewed) => renewed.await,
            }
        }
        let began = Instant::now();
        // Also when this is dropped half way: the next caller must not wait for a computation that has ended.
        let renewing = Renewing { recent: self, key };
        let value = Arc::new(compute.await?);
        renewing.done(value.clone(), began.elapsed(), Instant::now());
        Ok(value)
    }

    fn turn(&self, key: &K, now: Instant) -> Turn<V> {
        let mut entries = self.entries();
        if entries.len() > KEYS {
            entries.retain(|_, entry| entry.renewing || entry.is_fresh(now));
        }
        let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
            value: None,
            computed: now,
            took: Duration::ZERO,
            renewing: false,
            renewed: Arc::default(),
        });
        match (&entry.value, entry.renewing) {
            (Some(value), renewing) if renewing || entry.is_fresh(now) => Turn::Take(value.clone()),
            // Made under the lock, it hears of an end that comes before it is awaited.
            (None, true) => Turn::Wait(entry.renewed.clone().notified_owned()),
            _ => {
                entry.renewing = true;
                Turn::Compute
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<K, Entry<V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Renewing<'a, K: Clone + Eq + Hash, V> {
    recent: &'a Recent<K, V>,
    key: K,
}

impl<K: Clone + Eq + Hash, V> Renewing<'_, K, V> {
    fn done(&self, value: Arc<V>, took: Duration, now: Instant) {
        if let Some(entry) = self.recent.entries().get_mut(&self.key) {
            (entry.value, entry.computed, entry.took) = (Some(value), now, took);
        }
    }
}

impl<K: Clone + Eq + Hash, V> Drop for Renewing<'_, K, V> {
    fn drop(&mut self) {
        if let Some(entry) = self.recent.entries().get_mut(&self.key) {
            entry.renewing = false;
            entry.renewed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    impl<K: Clone + Eq + Hash> Recent<K, i32> {
        fn taken(&self, key: K, now: Instant) -> Option<i32> {
            match self.turn(&key, now) {
                Turn::Take(value) => Some(*value),
                Turn::Compute | Turn::Wait(_) => None,
            }
        }

        fn is_to_compute(&self, key: K, now: Instant) -> bool {
            matches!(self.turn(&key, now), Turn::Compute)
        }
    }

    /// A number that took a second, computed `now`.
    fn with_one(now: Instant) -> Recent<&'static str, i32> {
        let recent = Recent::default();
        assert!(recent.is_to_compute("run", now));
        let renewing = Renewing { recent: &recent, key: "run" };
        renewing.done(Arc::new(1), SECOND, now);
        drop(renewing);
        recent
    }

    #[test]
    fn a_number_may_be_as_old_as_a_multiple_of_the_time_it_took() {
        let now = Instant::now();
        let recent = with_one(now);
        assert_eq!(recent.taken("run", now + SECOND * (SHARE - 1)), Some(1));
        assert!(recent.is_to_compute("run", now + SECOND * SHARE));
        assert!(recent.is_to_compute("other", now));
    }

    #[test]
    fn while_one_computes_the_others_take_what_there_is() {
        let now = Instant::now();
        let (recent, later) = (with_one(now), now + SECOND * SHARE);
        assert!(recent.is_to_compute("run", later));
        assert_eq!(recent.taken("run", later), Some(1));
        // It went away without an answer.
        drop(Renewing { recent: &recent, key: "run" });
        assert!(recent.is_to_compute("run", later));
    }

    #[tokio::test]
    async fn of_many_who_ask_first_one_computes() {
        let recent = Recent::default();
        let computed = std::cell::Cell::new(0);
        let ask = || {
            recent.get("run", async {
                computed.set(computed.get() + 1);
                tokio::task::yield_now().await;
                Ok::<_, &str>(computed.get())
            })
        };
        let answers = futures::future::join_all((0..50).map(|_| ask())).await;
        assert!(answers.iter().all(|answer| answer.as_deref() == Ok(&1)), "{answers:?}");
    }

    #[tokio::test]
    async fn a_failure_is_passed_on_and_not_kept() {
        let recent = Recent::<_, i32>::default();
        assert_eq!(recent.get("run", async { Err("no") }).await, Err("no"));
        assert_eq!(recent.get("run", async { Ok::<_, &str>(1) }).await.as_deref(), Ok(&1));
    }
}
