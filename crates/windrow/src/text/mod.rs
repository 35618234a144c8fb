//! Numbers, durations, times and long text as a person reads them.

pub mod style;
pub mod table;
pub mod tables;

use std::io::IsTerminal;

use windrow_engine::SystemClock;
pub use windrow_model::record::dollars;
use windrow_model::{Clock, Time};
use windrow_wire::Timestamp;

/// `1234567` as `1,234,567`.
pub fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn duration(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

pub fn rate(per_second: f64) -> String {
    if per_second >= 100.0 { format!("{}/s", count(per_second.round() as i64)) } else { format!("{per_second:.1}/s") }
}

pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// `2 min ago` on a terminal, RFC 3339 elsewhere.
pub fn moment(at: Timestamp) -> String {
    if !std::io::stdout().is_terminal() {
        return at.to_string();
    }
    ago(SystemClock.now() - Time::from(at)).unwrap_or_else(|| at.to_string())
}

/// `None` in the future, and where the day says more.
pub fn ago(ms: i64) -> Option<String> {
    match ms.div_euclid(1000) {
        ..0 => None,
        0..10 => Some("now".to_owned()),
        seconds @ 10..60 => Some(format!("{seconds} s ago")),
        seconds @ 60..3_600 => Some(format!("{} min ago", seconds / 60)),
        seconds @ 3_600..86_400 => Some(format!("{} h ago", seconds / 3_600)),
        seconds @ 86_400..864_000 => Some(format!("{} d ago", seconds / 86_400)),
        _ => None,
    }
}

/// One line of at most `width` characters.
pub fn line(text: &str, width: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= width {
        return flat;
    }
    flat.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

pub fn plural(n: i64, one: &str) -> String {
    match (n, one.strip_suffix("ch")) {
        (1, _) => format!("1 {one}"),
        (_, Some(_)) => format!("{} {one}es", count(n)),
        (_, None) => format!("{} {one}s", count(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1234567), count(-1000)], ["0", "999", "1,234,567", "-1,000"]);
        assert_eq!([duration(999), duration(1500), duration(61_000)], ["999 ms", "1.5 s", "1 min 1 s"]);
        assert_eq!([dollars(0), dollars(9), dollars(66_000_000)], ["$0.00", "<$0.0001", "$0.0660"]);
        assert_eq!([dollars(1_250_000_000), rate(13.51), rate(640.2)], ["$1.25", "13.5/s", "640/s"]);
        assert_eq!(
            [ago(-1), ago(130_000), ago(9 * 3_600_000)],
            [None, Some("2 min ago".into()), Some("9 h ago".into())]
        );
        assert_eq!(line("a  long\nline", 6), "a lon…");
        assert_eq!([plural(1, "item"), plural(2, "item")], ["1 item", "2 items"]);
    }
}
