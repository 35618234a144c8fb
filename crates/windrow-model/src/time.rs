//! Time as a value. The store reads no clock: each verb gets `now` as an argument.

use std::ops::{Add, Sub};

pub const DAY_MS: i64 = 86_400_000;

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Time(pub i64);

impl Add<i64> for Time {
    type Output = Time;
    fn add(self, ms: i64) -> Time {
        Time(self.0.saturating_add(ms))
    }
}

impl Sub for Time {
    type Output = i64;
    fn sub(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The only source of time, given by the runtime.
pub trait Clock: Send + Sync {
    fn now(&self) -> Time;
}
