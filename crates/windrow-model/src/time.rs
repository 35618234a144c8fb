//! Time as a value. The store never asks what time it is: each verb is told.

use std::ops::{Add, Sub};

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

/// The one clock, held by the runtime.
pub trait Clock: Send + Sync {
    fn now(&self) -> Time;
}
