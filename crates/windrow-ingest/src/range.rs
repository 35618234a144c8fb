//! A range of a plan, as a backfill names it: moments for a plan that is cut by time, whole numbers for one that is
//! cut by keys. Anything else is refused rather than compared as text.

use windrow_jobfile::spec::Spec;
use windrow_model::ingest::Span;
use windrow_model::{Json, Time};

use super::file::moment;
use super::slicing::Slicing;
use super::spec::IngestSpec;

/// From, and up to but not including.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    Everything,
    Time(Option<Time>, Option<Time>),
    Keys(Option<i64>, Option<i64>),
}

/// What is wrong with a range, in which field, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongRange {
    pub field: &'static str,
    pub what: String,
    pub help: String,
}

/// Of the plan with this frozen definition.
pub fn range_of(spec: &Json, from: Option<&str>, to: Option<&str>) -> Result<Range, WrongRange> {
    let unreadable = |failure: windrow_model::Failure| wrong("from", failure.message, "submit the plan again");
    read(&IngestSpec::thaw(spec).map_err(unreadable)?.slicing, from, to)
}

fn read(slicing: &Slicing, from: Option<&str>, to: Option<&str>) -> Result<Range, WrongRange> {
    let Some(field) = from.map(|_| "from").or(to.map(|_| "to")) else { return Ok(Range::Everything) };
    match slicing {
        Slicing::Time { .. } => {
            let help = "write it like 2026-01-31 or 2026-01-31T06:00:00Z";
            let (from, to) = bounds(from, to, |text| moment(text).map_err(|what| (what, help)))?;
            Ok(Range::Time(from, to))
        }
        Slicing::Keys { .. } => {
            let number = |text: &str| {
                let what = format!("{text:?} is not a key: the plan is cut by whole numbers");
                text.trim().parse::<i64>().map_err(|_| (what, "write it like 1500"))
            };
            let (from, to) = bounds(from, to, number)?;
            Ok(Range::Keys(from, to))
        }
        Slicing::One | Slicing::Values(_) => {
            let what = "the plan is not cut by time or by keys, so it has no ranges";
            Err(wrong(field, what, "name slices instead, or leave the range out to fetch all of them"))
        }
    }
}

type Bounds<T> = (Option<T>, Option<T>);

fn bounds<T: PartialOrd>(
    from: Option<&str>,
    to: Option<&str>,
    read: impl Fn(&str) -> Result<T, (String, &'static str)>,
) -> Result<Bounds<T>, WrongRange> {
    let one = |field, text: Option<&str>| text.map(&read).transpose().map_err(|(what, help)| wrong(field, what, help));
    let (start, end) = (one("from", from)?, one("to", to)?);
    if let (Some(start), Some(end)) = (&start, &end)
        && end <= start
    {
        return Err(wrong("to", "the range is empty: `to` must be above `from`", "`to` itself is not included"));
    }
    Ok((start, end))
}

fn wrong(field: &'static str, what: impl Into<String>, help: impl Into<String>) -> WrongRange {
    WrongRange { field, what: what.into(), help: help.into() }
}

impl Range {
    /// A slice of an earlier definition that was cut in another way is outside of every range.
    pub fn overlaps(&self, span: &Span) -> bool {
        match (self, span) {
            (Range::Everything, _) => true,
            (Range::Time(from, to), Span::Time { from: start, closed_at, .. }) => {
                let after = from.is_none_or(|from| *closed_at > from);
                after && to.is_none_or(|to| moment(start).is_ok_and(|start| start < to))
            }
            (Range::Keys(from, to), Span::Keys { from: start, to: end }) => {
                from.is_none_or(|from| *end > from) && to.is_none_or(|to| *start < to)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use windrow_jobfile::duration::Duration;

    use super::*;

    fn days() -> Slicing {
        Slicing::Time { from: moment("2026-01-01").unwrap(), to: None, every: Duration::from_secs(86_400) }
    }

    fn day(from: &str, to: &str) -> Span {
        Span::Time { from: from.into(), to: to.into(), closed_at: moment(to).unwrap() }
    }

    #[test]
    fn moments_are_compared_as_moments() {
        let range = read(&days(), Some("2026-01-02T01:00:00+02:00"), Some("2026-01-03")).unwrap();
        // 01:00 in Helsinki is 23:00 of the day before in UTC.
        assert!(range.overlaps(&day("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")));
        assert!(range.overlaps(&day("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")));
        assert!(!range.overlaps(&day("2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")));
        // As texts, `2026-01-03T00:00:00Z` comes after `2026-01-03`, and the day would be left out or doubled.
        let from = read(&days(), Some("2026-01-03"), None).unwrap();
        assert!(!from.overlaps(&day("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")));
    }

    #[test]
    fn keys_are_compared_as_numbers() {
        let keys = Slicing::Keys { from: -10, to: 100, every: 10 };
        let range = read(&keys, Some("9"), Some("20")).unwrap();
        assert!(range.overlaps(&Span::Keys { from: 0, to: 10 }) && range.overlaps(&Span::Keys { from: 10, to: 20 }));
        assert!(!range.overlaps(&Span::Keys { from: 20, to: 30 }) && !range.overlaps(&Span::Keys { from: -10, to: 0 }));
    }

    #[test]
    fn nonsense_is_refused_in_the_field_it_is_in() {
        let keys = Slicing::Keys { from: 0, to: 9, every: 1 };
        let values = Slicing::Values(vec!["eu".into()]);
        for (slicing, from, to, field) in [
            (days(), Some("2026-13-01"), None, "from"),
            (days(), None, Some("tomorrow"), "to"),
            (days(), Some("17"), None, "from"),
            (days(), Some("2026-01-02"), Some("2026-01-02"), "to"),
            (keys.clone(), Some("2026-01-01"), None, "from"),
            (keys.clone(), None, Some("1.5"), "to"),
            (keys, Some("5"), Some("4"), "to"),
            (values, None, Some("4"), "to"),
            (Slicing::One, Some("2026-01-01"), None, "from"),
        ] {
            assert_eq!(read(&slicing, from, to).unwrap_err().field, field, "{slicing:?} {from:?} {to:?}");
        }
    }
}
