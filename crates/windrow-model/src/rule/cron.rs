//! Times of scheduled starts, as one text: a cron pattern, before it the time zone it is meant in
//! (default UTC) and how to treat missed starts, e.g. `tz=Europe/Berlin catch_up=all 0 6 * * *`. A schedule that is
//! paused starts with `paused=yes`.

use std::fmt;
use std::str::FromStr;

use croner::Cron;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::time::Time;

crate::vocabulary! {
    /// How to treat missed starts: no scheduler was running, or the previous run took too long.
    pub enum CatchUp {
        #[doc = "One start makes up for all of them."]
        Latest = "latest",
        #[doc = "Each is made up for, one after the other."]
        All = "all",
        #[doc = "They are left out; the next one is on time."]
        Skip = "skip",
    }
}

/// A start this much later than its time was missed.
pub const LATE_MS: i64 = 60_000;

pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
    pub catch_up: CatchUp,
    /// Nothing starts until it is resumed.
    pub paused: bool,
}

impl FromStr for Timetable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (paused, text) = paused(text);
        let (mut rest, mut zone, mut catch_up) = (text.trim(), TimeZone::UTC, CatchUp::Latest);
        while let Some((word, behind)) = rest.split_once(char::is_whitespace) {
            let Some((name, value)) = word.split_once('=') else { break };
            match name {
                "tz" => zone = TimeZone::get(value).map_err(|_| format!("unknown time zone {value:?}"))?,
                "catch_up" => {
                    catch_up = value.parse().map_err(|_| format!("catch_up is {}, not {value:?}", choices()))?
                }
                _ => return Err(format!("{name:?} is not known here; there are tz and catch_up")),
            }
            rest = behind.trim_start();
        }
        let cron = Cron::from_str(rest).map_err(|error| error.to_string())?;
        Ok(Self { cron, zone, catch_up, paused })
    }
}

const PAUSED: &str = "paused=yes ";

/// Whether the schedule is paused, and its text without that.
pub fn paused(text: &str) -> (bool, &str) {
    text.strip_prefix(PAUSED).map_or((false, text), |rest| (true, rest))
}

/// The text of the schedule while it is paused, or after.
pub fn with_pause(text: &str, pause: bool) -> String {
    let (_, bare) = paused(text);
    if pause { format!("{PAUSED}{bare}") } else { bare.to_owned() }
}

fn choices() -> String {
    CatchUp::ALL.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Timetable {
    /// The first times after `now`; none while it is paused.
    pub fn upcoming(&self, now: Time, count: usize) -> Vec<Time> {
        let after = |at: &Time| self.next_after(*at).ok();
        let first = after(&now).filter(|_| !self.paused);
        std::iter::successors(first, after).take(count).collect()
    }

    /// The first time after `now`. An hour that is left out in spring is made up for right after it, and one that
    /// comes twice in autumn counts once.
    pub fn next_after(&self, now: Time) -> Result<Time, String> {
        let now = Timestamp::from_millisecond(now.0).map_err(|error| error.to_string())?;
        let next = self.cron.find_next_occurrence(&now.to_zoned(self.zone.clone()), false);
        next.map(|at| Time(at.timestamp().as_millisecond())).map_err(|error| error.to_string())
    }

    /// When it starts again, after a run that was started for `at`, or by hand.
    pub fn next_of_run(&self, at: Option<Time>, now: Time) -> Option<Time> {
        if self.paused {
            return None;
        }
        let from = match (self.catch_up, at) {
            (CatchUp::All, Some(at)) => at,
            _ => now,
        };
        self.next_after(from).ok()
    }

    /// Whether a start that was due at `at` is left out for being late.
    pub fn leaves_out(&self, at: Time, now: Time) -> bool {
        self.catch_up == CatchUp::Skip && now.0 - at.0 > LATE_MS
    }
}

/// The parts of a schedule as one text.
pub struct Written<'a> {
    pub cron: &'a str,
    pub time_zone: Option<&'a str>,
    pub catch_up: Option<CatchUp>,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(zone) = self.time_zone {
            write!(f, "tz={zone} ")?;
        }
        if let Some(catch_up) = self.catch_up {
            write!(f, "catch_up={catch_up} ")?;
        }
        f.write_str(self.cron)
    }
}

/// The first time after `now` that the text names; an error explains why the text is invalid.
pub fn next_after(text: &str, now: Time) -> Result<Time, String> {
    text.parse::<Timetable>()?.next_after(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Time = Time(1_800_014_400_000); // 2027-01-15 12:00 UTC
    const HOUR: i64 = 3_600_000;

    fn at(text: &str) -> Time {
        Time(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn the_next_time_is_strictly_later() {
        assert_eq!(next_after("0 * * * *", NOON), Ok(NOON + HOUR));
        assert_eq!(next_after("*/5 * * * *", NOON + 1), Ok(NOON + 300_000));
        assert_eq!(next_after("@daily", NOON), Ok(NOON + 12 * HOUR));
        assert!(next_after("every day", NOON).is_err());
        assert!(next_after("0 0 31 2 *", NOON).is_err(), "no such day");
    }

    #[test]
    fn a_time_is_meant_where_somebody_lives_also_when_clocks_change() {
        let six = "tz=Europe/Berlin 0 6 * * *";
        assert_eq!(next_after(six, at("2026-03-27T12:00:00Z")), Ok(at("2026-03-28T05:00:00Z")));
        assert_eq!(next_after(six, at("2026-03-28T12:00:00Z")), Ok(at("2026-03-29T04:00:00Z")), "summer has begun");
        let skipped = next_after("tz=Europe/Berlin 30 2 * * *", at("2026-03-28T12:00:00Z")).unwrap();
        assert!(skipped > at("2026-03-29T00:59:00Z") && skipped <= at("2026-03-29T01:30:00Z"), "{skipped:?}");
        assert!(next_after("tz=Mars/Olympus 0 6 * * *", NOON).unwrap_err().contains("Mars/Olympus"));
        assert!(next_after("when=now 0 6 * * *", NOON).is_err());
    }

    #[test]
    fn a_paused_schedule_starts_nothing_and_keeps_its_text() {
        let text = with_pause("tz=Asia/Tokyo 0 * * * *", true);
        assert_eq!((paused(&text), text.len()), ((true, "tz=Asia/Tokyo 0 * * * *"), 34));
        assert_eq!(
            (with_pause(&text, true), with_pause(&text, false)),
            (text.clone(), "tz=Asia/Tokyo 0 * * * *".into())
        );
        let timetable: Timetable = text.parse().unwrap();
        assert_eq!((timetable.next_of_run(None, NOON), timetable.upcoming(NOON, 3)), (None, vec![]));
        let hourly: Timetable = "0 * * * *".parse().unwrap();
        assert_eq!(hourly.upcoming(NOON, 3), [NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR]);
    }

    #[test]
    fn missed_starts_are_made_up_for_as_the_policy_says() {
        let of = |text: &str| text.parse::<Timetable>().unwrap();
        let late = NOON + 5 * HOUR + 1;
        assert_eq!(of("0 * * * *").next_of_run(Some(NOON), late), Some(NOON + 6 * HOUR));
        assert_eq!(of("catch_up=all 0 * * * *").next_of_run(Some(NOON), late), Some(NOON + HOUR));
        assert_eq!(of("catch_up=all 0 * * * *").next_of_run(None, late), Some(NOON + 6 * HOUR));
        assert!(of("catch_up=skip 0 * * * *").leaves_out(NOON, late));
        assert!(!of("catch_up=skip 0 * * * *").leaves_out(NOON, NOON + LATE_MS));
        assert!(!of("0 * * * *").leaves_out(NOON, late));
        assert!("catch_up=some 0 * * * *".parse::<Timetable>().is_err_and(|why| why.contains("latest, all, skip")));
        let written = Written { cron: "0 6 * * *", time_zone: Some("Asia/Tokyo"), catch_up: Some(CatchUp::All) };
        assert_eq!(written.to_string(), "tz=Asia/Tokyo catch_up=all 0 6 * * *");
    }
}
