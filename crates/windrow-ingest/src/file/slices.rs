//! The section `slices`: how the source is cut.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::job_file::Section;
use windrow_model::Time;

use crate::slicing::Slicing;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    time: Option<Windows>,
    keys: Option<Ranges>,
    values: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Windows {
    from: String,
    to: Option<String>,
    every: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    from: i64,
    to: i64,
    every: i64,
}

const EXAMPLE: &str =
    "one of: time: { from: 2026-01-01, every: 1d } · keys: { from: 0, to: 1000, every: 100 } · values: [eu, us]";

pub fn read(section: Section, problems: &mut Problems) -> Option<Slicing> {
    let given: Given = section.read(&[], problems)?;
    let mut wrong = |field: &str, message: String| {
        problems.add(section.span_of(field), message, EXAMPLE);
        None
    };
    let (field, slicing) = match given {
        Given { time: Some(windows), keys: None, values: None } => match windows.slicing() {
            Ok(slicing) => ("time", slicing),
            Err(why) => return wrong("time", why),
        },
        Given { time: None, keys: Some(Ranges { from, to, every }), values: None } => {
            ("keys", Slicing::Keys { from, to, every })
        }
        Given { time: None, keys: None, values: Some(values) } => ("values", Slicing::Values(values)),
        _ => return wrong("", "`slices` names one way to cut".to_owned()),
    };
    match slicing.check() {
        Ok(()) => Some(slicing),
        Err(why) => wrong(field, format!("`slices.{field}`: {why}")),
    }
}

impl Windows {
    fn slicing(&self) -> Result<Slicing, String> {
        let to = self.to.as_deref().filter(|to| *to != "now").map(moment).transpose()?;
        Ok(Slicing::Time { from: moment(&self.from)?, to, every: length(&self.every)? })
    }
}

/// A day counts as 24 hours: windows are in UTC.
fn length(text: &str) -> Result<Duration, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<i64>().ok());
    days.map_or_else(|| text.parse(), |days| Ok(Duration::from_secs(days * 86_400)))
}

/// A moment with its zone, or a date in UTC.
pub fn moment(text: &str) -> Result<Time, String> {
    let date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let found = text.parse::<Timestamp>().ok().or_else(date).map(|moment| Time(moment.as_millisecond()));
    found.ok_or_else(|| format!("{text:?} is not a moment; write it like 2026-01-31 or 2026-01-31T06:00:00Z"))
}
