//! Priority with aging (T5). Work is ordered by a rank that is fixed at its birth:
//! `born + priority · AGING_MS`, the smaller the sooner. A step of priority is worth `AGING_MS` of
//! waiting, so low priority is overtaken only by work born at most `STARVATION_BOUND_MS` later:
//! later arrivals queue after it.

use crate::time::Time;

/// 1 is the highest, 9 the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Priority(u8);

pub const AGING_MS: i64 = 60_000;
pub const STARVATION_BOUND_MS: i64 = (Priority::LOWEST.0 - Priority::HIGHEST.0) as i64 * AGING_MS;

impl Priority {
    pub const HIGHEST: Self = Self(1);
    pub const NORMAL: Self = Self(5);
    pub const LOWEST: Self = Self(9);

    pub fn new(value: i64) -> Option<Self> {
        (1..=9).contains(&value).then_some(Self(value as u8))
    }

    pub fn get(self) -> i64 {
        i64::from(self.0)
    }

    pub fn rank(self, born: Time) -> i64 {
        born.0 + self.get() * AGING_MS
    }

    pub fn all() -> impl Iterator<Item = Self> {
        (1..=9).map(Self)
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl<'de> serde::Deserialize<'de> for Priority {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = <i64 as serde::Deserialize>::deserialize(d)?;
        Self::new(value).ok_or_else(|| {
            serde::de::Error::custom(format!("priority {value} is out of range: 1 (highest) to 9 (lowest)"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_priority_is_overtaken_only_within_the_bound() {
        let waiting = Priority::LOWEST.rank(Time(0));
        assert!(Priority::HIGHEST.rank(Time(STARVATION_BOUND_MS - 1)) < waiting);
        assert!(Priority::HIGHEST.rank(Time(STARVATION_BOUND_MS + 1)) > waiting);
    }
}
