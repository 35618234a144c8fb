//! Shows an answer while it arrives, a few times a second, and its last words also when nothing more comes.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windrow_model::workload::Shown;

const EVERY: Duration = Duration::from_millis(100);

pub struct Showing {
    place: Option<Arc<dyn Shown>>,
    /// Something came since it was shown last.
    waiting: bool,
    next: Instant,
}

impl Showing {
    pub fn new(place: Option<Arc<dyn Shown>>) -> Self {
        Self { place, waiting: false, next: Instant::now() }
    }

    pub fn arrived(&mut self) {
        self.waiting = self.place.is_some();
    }

    /// Waits for more, and shows what came before.
    pub async fn while_waiting<T>(&mut self, more: impl Future<Output = T>, so_far: impl Fn() -> String) -> T {
        let mut more = pin!(more);
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.next), if self.waiting => {
                    self.place.iter().for_each(|place| place.show(&so_far()));
                    (self.waiting, self.next) = (false, Instant::now() + EVERY);
                }
                more = &mut more => return more,
            }
        }
    }
}
