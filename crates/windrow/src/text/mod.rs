//! Numbers, durations, tables and long text as a person reads them: on a terminal, and in reports.

pub mod table;
pub mod tables;

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
    if per_second >= 10.0 { format!("{}/s", count(per_second.round() as i64)) } else { format!("{per_second:.1}/s") }
}

pub use windrow_model::record::dollars;

/// One line of at most `width` characters.
pub fn line(text: &str, width: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= width {
        return flat;
    }
    flat.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

pub fn plural(n: i64, one: &str) -> String {
    format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1234567), count(-1000)], ["0", "999", "1,234,567", "-1,000"]);
        assert_eq!([duration(999), duration(1500), duration(61_000)], ["999 ms", "1.5 s", "1 min 1 s"]);
        assert_eq!(line("a  long\nline", 6), "a lon…");
        assert_eq!([plural(1, "item"), plural(2, "item")], ["1 item", "2 items"]);
    }
}
