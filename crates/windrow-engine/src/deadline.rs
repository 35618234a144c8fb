//! The timeout of one item, by a stopwatch that pauses while the item waits for a rate limit: time in a queue never
//! counts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Default)]
pub struct Stopwatch {
    waits: Mutex<Waits>,
    changed: Notify,
}

#[derive(Default)]
struct Waits {
    over: Duration,
    /// How many steps of the item wait, and since when.
    now: u32,
    since: Option<Instant>,
}

/// The stopwatch is paused until this is dropped.
pub struct Paused<'a>(&'a Stopwatch);

impl Stopwatch {
    pub fn pause(&self) -> Paused<'_> {
        let mut waits = self.waits();
        waits.now += 1;
        waits.since.get_or_insert_with(Instant::now);
        self.changed.notify_waiters();
        Paused(self)
    }

    /// Returns when `limit` has passed since `started`, pauses not counted.
    pub async fn reaches(&self, limit: Duration, started: Instant) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let end = {
                let waits = self.waits();
                (waits.now == 0).then_some(started + limit + waits.over)
            };
            let Some(end) = end else {
                changed.await;
                continue;
            };
            if tokio::time::timeout_at(end, changed).await.is_err() {
                return;
            }
        }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut waits = self.0.waits();
        waits.now -= 1;
        if waits.now == 0
            && let Some(since) = waits.since.take()
        {
            waits.over += since.elapsed();
        }
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_spent_waiting_does_not_count() {
        let (watch, started) = (Stopwatch::default(), Instant::now());
        let work = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            let (one, other) = (watch.pause(), watch.pause());
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            drop(one);
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(other);
            std::future::pending::<()>().await
        };
        tokio::select! {
            () = watch.reaches(Duration::from_secs(10), started) => {}
            () = work => unreachable!(),
        }
        assert_eq!(started.elapsed(), Duration::from_secs(10 + 3_600 + 100));
    }
}
