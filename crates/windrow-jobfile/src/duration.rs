//! Lengths of time as a person writes them in a job file: `120s`, `2m 30s`, `10 min`.

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windrow_model::Time;

/// Milliseconds; text in files and frozen definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    pub ms: i64,
}

impl Duration {
    pub const fn from_secs(secs: i64) -> Self {
        Self { ms: secs * 1000 }
    }

    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.ms.max(0) as u64)
    }
}

impl std::str::FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let duration: SignedDuration = text
            .trim()
            .parse()
            .map_err(|_| format!("{text:?} is not a length of time; write it like 500ms, 30s, 2m or 1h"))?;
        if duration.is_negative() {
            return Err(format!("{text:?} is negative; write a length of time like 30s"));
        }
        i64::try_from(duration.as_millis()).map(|ms| Self { ms }).map_err(|_| format!("{text:?} is too long"))
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{}ms", self.ms))
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Duration;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a length of time with its unit, like 30s")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
                text.parse().map_err(E::custom)
            }
        }
        d.deserialize_str(Text)
    }
}

/// A moment: RFC 3339, or milliseconds since 1970.
pub fn moment(text: &str) -> Option<Time> {
    let ms = text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond());
    ms.or_else(|| text.parse().ok()).map(Time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit_and_survive_freezing() {
        for (text, ms) in [("0s", 0), ("500ms", 500), ("120s", 120_000), ("2m 30s", 150_000), ("1h", 3_600_000)] {
            let duration: Duration = text.parse().unwrap();
            assert_eq!(duration.ms, ms, "{text}");
            let frozen = serde_json::to_string(&duration).unwrap();
            assert_eq!(serde_json::from_str::<Duration>(&frozen).unwrap(), duration);
        }
        for wrong in ["", "120", "-3s", "soon"] {
            assert!(wrong.parse::<Duration>().is_err(), "{wrong:?}");
        }
    }
}
