//! Parts of the week in which nothing starts, as a person writes them: `fri 16:00 - mon 08:00`, in UTC.

use windrow_model::rollout::Freeze;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

pub fn parse(text: &str) -> Result<Freeze, String> {
    let wrong = || format!("{text:?} must be a part of a week, e.g. \"fri 16:00 - mon 08:00\" (UTC)");
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let freeze = Freeze { from: minute(from).ok_or_else(wrong)?, to: minute(to).ok_or_else(wrong)? };
    if freeze.from == freeze.to { Err(wrong()) } else { Ok(freeze) }
}

fn minute(text: &str) -> Option<i64> {
    let (day, time) = text.trim().split_once(' ')?;
    let day = DAYS.iter().position(|name| day.to_lowercase().starts_with(name))?;
    let (hour, minute) = time.trim().split_once(':')?;
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then_some((day as i64 * 24 + hour) * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read() {
        assert_eq!(parse("Fri 16:00 - mon 08:00"), Ok(Freeze { from: (4 * 24 + 16) * 60, to: 8 * 60 }));
        assert_eq!(parse("wednesday 00:30-wednesday 01:00"), Ok(Freeze { from: 48 * 60 + 30, to: 49 * 60 }));
        for wrong in ["", "fri 16:00", "fri 25:00 - mon 08:00", "16:00 - 17:00", "fri 16:00 - fri 16:00"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
