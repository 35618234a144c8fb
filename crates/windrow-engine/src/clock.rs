use std::time::{SystemTime, UNIX_EPOCH};

use windrow_model::{Clock, Time};

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(since_epoch.as_millis() as i64)
    }
}
