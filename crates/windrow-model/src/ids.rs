//! Names of things. Jobs, runs and sessions have 64-bit ids that sort by time of birth; items are
//! numbered by the store; attempts and steps are numbered inside their item, packed into one
//! integer so that the clustered key of their table *is* the natural key.

use std::fmt;
use std::str::FromStr;

use crate::time::Time;

/// 2024-01-01T00:00:00Z, so that 41 bits of milliseconds last until 2093.
const EPOCH_MS: i64 = 1_704_067_200_000;
const RANDOM_BITS: u32 = 22;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected} id; it should look like {example}")]
pub struct BadId {
    pub text: String,
    pub expected: &'static str,
    pub example: String,
}

fn mint(now: Time, chance: u64) -> i64 {
    let ms = (now.0 - EPOCH_MS).max(0);
    (ms << RANDOM_BITS) | (chance & ((1 << RANDOM_BITS) - 1)) as i64
}

fn encode(prefix: &str, value: i64) -> String {
    let mut text = String::with_capacity(prefix.len() + 14);
    text.push_str(prefix);
    text.push('_');
    for shift in (0..13).rev() {
        text.push(ALPHABET[((value >> (shift * 5)) & 31) as usize] as char);
    }
    text
}

fn decode(prefix: &str, text: &str) -> Option<i64> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    if digits.len() != 13 {
        return None;
    }
    digits.bytes().try_fold(0i64, |value, byte| {
        let digit = ALPHABET.iter().position(|c| *c == byte.to_ascii_lowercase())?;
        Some((value << 5) | digit as i64)
    })
}

macro_rules! born_id {
    ($(#[$meta:meta])* $name:ident, $prefix:literal, $article:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl $name {
            pub fn mint(now: Time, chance: u64) -> Self {
                Self(mint(now, chance))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&encode($prefix, self.0))
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                decode($prefix, text).map(Self).ok_or_else(|| BadId {
                    text: text.to_owned(),
                    expected: $article,
                    example: encode($prefix, mint(Time(EPOCH_MS + 86_400_000_000), 12345)),
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

born_id!(/// A durable definition of work.
    JobId, "job", "a job");
born_id!(/// One pass over a job's items.
    RunId, "run", "a run");
born_id!(/// One life of one engine process; leases belong to a session.
    SessionId, "ses", "a session");
born_id!(/// One time that an alert was raised.
    AlertId, "alr", "an alert");
born_id!(/// A named dataset.
    DatasetId, "ds", "a dataset");
born_id!(/// One version of a dataset, also while it is being imported.
    DatasetVersionId, "dsv", "a dataset version");
born_id!(/// An API key.
    KeyId, "key", "a key's");
born_id!(/// A webhook.
    HookId, "hook", "a webhook");

const TRY_BITS: u32 = 10;
const STEP_BITS: u32 = 20;

/// The highest number a try may have over an item's whole life.
pub const MAX_TRIES: u32 = (1 << TRY_BITS) - 1;
/// The highest number a step may have inside one attempt.
pub const MAX_STEPS: u32 = (1 << STEP_BITS) - 1;

/// One unit of work; numbered by the store in the order of planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ItemId(pub i64);

/// The n-th try at an item, counted over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub i64);

/// The n-th step of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub i64);

impl AttemptId {
    pub fn new(item: ItemId, no: u32) -> Self {
        debug_assert!(no <= MAX_TRIES);
        Self((item.0 << TRY_BITS) | i64::from(no))
    }
    pub fn item(self) -> ItemId {
        ItemId(self.0 >> TRY_BITS)
    }
    pub fn no(self) -> u32 {
        (self.0 & i64::from(MAX_TRIES)) as u32
    }
    pub fn first_step(self) -> StepId {
        StepId::new(self, 0)
    }
    pub fn last_step(self) -> StepId {
        StepId::new(self, MAX_STEPS)
    }
}

impl StepId {
    pub fn new(attempt: AttemptId, no: u32) -> Self {
        debug_assert!(no <= MAX_STEPS);
        Self((attempt.0 << STEP_BITS) | i64::from(no))
    }
    pub fn attempt(self) -> AttemptId {
        AttemptId(self.0 >> STEP_BITS)
    }
    pub fn no(self) -> u32 {
        (self.0 & i64::from(MAX_STEPS)) as u32
    }
}

impl ItemId {
    /// All attempts of the item lie between these two, inclusive.
    pub fn attempts(self) -> (AttemptId, AttemptId) {
        (AttemptId::new(self, 0), AttemptId::new(self, MAX_TRIES))
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.item(), self.no())
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.attempt(), self.no())
    }
}

/// The right to work on one attempt. Every write of a worker names all three; once the fence has
/// moved on, the write is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub run: RunId,
    pub attempt: AttemptId,
    pub fence: i64,
}

/// The right to coordinate one run. Every write of a coordinator names both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub run: RunId,
    pub epoch: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_survive_text() {
        let early = JobId::mint(Time(EPOCH_MS + 5), u64::MAX);
        let late = JobId::mint(Time(EPOCH_MS + 6), 0);
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(late.to_string().parse::<JobId>(), Ok(late));
        let err = late.to_string().parse::<RunId>().unwrap_err();
        assert!(err.to_string().contains("should look like run_"), "{err}");
    }

    #[test]
    fn attempt_and_step_numbers_unpack() {
        let step = StepId::new(AttemptId::new(ItemId(1 << 32), 7), 99);
        assert_eq!((step.attempt().item(), step.attempt().no(), step.no()), (ItemId(1 << 32), 7, 99));
        assert!(step.0 > 0);
    }
}
