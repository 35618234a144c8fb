//! How a plan is cut into slices: by time, by ranges of keys, by values, or not at all. Slices are made
//! one after the other, so that a million of them need no list.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::duration::Duration;
use windrow_model::Time;
use windrow_model::ingest::{Origin, Slice, Span};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Slicing {
    #[default]
    One,
    /// Windows of equal length, from a moment on; `to` is now where nothing is said.
    Time {
        from: Time,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Time>,
        every: Duration,
    },
    /// Ranges of whole numbers, `to` not included.
    Keys {
        from: i64,
        to: i64,
        every: i64,
    },
    Values(Vec<Value>),
}

impl Slicing {
    pub fn check(&self) -> Result<(), String> {
        match self {
            Slicing::One => Ok(()),
            Slicing::Time { every, .. } if every.ms < 1000 => Err("a window must be at least 1 s long".to_owned()),
            Slicing::Time { from, to: Some(to), .. } if to <= from => Err("`to` must be later than `from`".to_owned()),
            Slicing::Time { .. } => Ok(()),
            Slicing::Keys { every, .. } if *every < 1 => Err("`every` must be at least 1".to_owned()),
            Slicing::Keys { from, to, .. } if to <= from => Err("`to` must be above `from`".to_owned()),
            Slicing::Keys { .. } => Ok(()),
            Slicing::Values(values) if values.is_empty() => Err("there are no values".to_owned()),
            Slicing::Values(values) => {
                let mut names: Vec<String> = values.iter().map(text_of).collect();
                names.sort();
                let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
                twice.map_or(Ok(()), |pair| Err(format!("the value {} is listed twice", pair[0])))
            }
        }
    }

    /// How many slices there are now.
    pub fn count(&self, now: Timestamp) -> u64 {
        match self {
            Slicing::One => 1,
            Slicing::Time { from, to, every } => {
                let until = to.map_or(now.as_millisecond(), |to| to.0);
                (until - from.0).max(0).unsigned_abs().div_ceil(every.ms.unsigned_abs())
            }
            Slicing::Keys { from, to, every } => to.abs_diff(*from).div_ceil(every.unsigned_abs()),
            Slicing::Values(values) => values.len() as u64,
        }
    }

    /// The n-th slice, from 0; `None` behind the last one. The last window may still be open.
    pub fn slice(&self, no: u64, now: Timestamp, origin: &Origin) -> Option<Slice> {
        if no >= self.count(now) {
            return None;
        }
        let (name, span) = match self {
            Slicing::One => ("all".to_owned(), Span::All),
            Slicing::Time { from, to, every } => {
                let start = from.0 + no as i64 * every.ms;
                let end = to.map_or(i64::MAX, |to| to.0).min(start + every.ms);
                let (from, to) = (Timestamp::from_millisecond(start).ok()?, Timestamp::from_millisecond(end).ok()?);
                let (from, to) = (from.to_string(), to.to_string());
                (format!("{from}..{to}"), Span::Time { from, to, closed_at: Time(end) })
            }
            Slicing::Keys { from, to, every } => {
                let start = from + no as i64 * every;
                let end = start.saturating_add(*every).min(*to);
                (format!("{start}..{end}"), Span::Keys { from: start, to: end })
            }
            Slicing::Values(values) => {
                let value = values.get(no as usize)?;
                (text_of(value), Span::Value(value.clone()))
            }
        };
        let now = Zoned::new(now, TimeZone::UTC);
        let quarter = format!("{} {}", now.date(), now.hour() / 6);
        Some(Slice { name, span, quarter, origin: origin.clone() })
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(slicing: &Slicing, now: &str) -> Vec<String> {
        let (now, origin) =
            (now.parse().unwrap(), Origin { provenance: "p".into(), operation: "o".into(), expr_hash: "h".into() });
        (0..).map_while(|no| slicing.slice(no, now, &origin)).map(|slice| slice.name).collect()
    }

    #[test]
    fn windows_reach_to_now_and_the_last_one_may_be_open() {
        let days = Slicing::Time {
            from: Time("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap().as_millisecond()),
            to: None,
            every: Duration::from_secs(86_400),
        };
        assert_eq!(
            names(&days, "2026-01-02T12:00:00Z"),
            ["2026-01-01T00:00:00Z..2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z..2026-01-03T00:00:00Z",]
        );
        assert!(names(&days, "2025-12-31T00:00:00Z").is_empty());
    }

    #[test]
    fn ranges_and_values_cover_everything_once() {
        let now = "2026-01-01T00:00:00Z";
        assert_eq!(names(&Slicing::Keys { from: -5, to: 12, every: 10 }, now), ["-5..5", "5..12"]);
        assert_eq!(names(&Slicing::Values(vec!["eu".into(), 7.into()]), now), ["eu", "7"]);
        assert_eq!(names(&Slicing::One, now), ["all"]);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        for wrong in [
            Slicing::Keys { from: 3, to: 3, every: 1 },
            Slicing::Keys { from: 0, to: 9, every: 0 },
            Slicing::Values(vec![]),
            Slicing::Values(vec!["a".into(), "a".into()]),
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
