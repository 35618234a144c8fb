//! Times at which a job starts by itself, as a cron pattern in UTC.

use std::str::FromStr;

use croner::Cron;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::time::Time;

/// The first time after `now` that the pattern names; an error says what is wrong with the pattern.
pub fn next_after(pattern: &str, now: Time) -> Result<Time, String> {
    let cron = Cron::from_str(pattern).map_err(|error| error.to_string())?;
    let now = Timestamp::from_millisecond(now.0).map_err(|error| error.to_string())?;
    let next = cron.find_next_occurrence(&now.to_zoned(TimeZone::UTC), false);
    next.map(|at| Time(at.timestamp().as_millisecond())).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_is_strictly_later() {
        let noon = Time(1_800_014_400_000); // 2027-01-15 12:00 UTC
        assert_eq!(next_after("0 * * * *", noon), Ok(noon + 3_600_000));
        assert_eq!(next_after("*/5 * * * *", noon + 1), Ok(noon + 300_000));
        assert_eq!(next_after("@daily", noon), Ok(noon + 12 * 3_600_000));
        assert!(next_after("every day", noon).is_err());
        assert!(next_after("0 0 31 2 *", noon).is_err(), "there is no such day");
    }
}
