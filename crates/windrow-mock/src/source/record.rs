//! The records: numbered from 1, one per minute since the start of 2026.

use std::fmt::Write;

const START_MS: i64 = 1_767_225_600_000;
const MINUTE_MS: i64 = 60_000;
const STATES: [&str; 4] = ["open", "paid", "shipped", "test"];

/// Appends the record as JSON.
pub fn write(id: i64, out: &mut String) {
    let (cents, state, customer) = (id * 7919 % 100_000, STATES[(id % 4) as usize], id * 31 % 10_007);
    let _ = write!(
        out,
        "{{\"id\":{id},\"name\":\"order {id}\",\"amount\":{}.{:02},\"status\":\"{state}\",\"customer\":{customer},\
         \"paid\":{},\"updated_at\":\"{}\",\"tags\":[\"t{}\"]}}",
        cents / 100,
        cents % 100,
        id % 4 == 1,
        moment(id),
        id % 10
    );
}

pub fn moment(id: i64) -> String {
    jiff::Timestamp::from_millisecond(START_MS + id * MINUTE_MS).map(|at| at.to_string()).unwrap_or_default()
}

/// The first record at or after an id or a time.
pub fn first_from(text: &str) -> Option<i64> {
    let by_moment = || {
        let at: jiff::Timestamp = text.parse().ok()?;
        let after = at.as_millisecond() - START_MS;
        Some(after.div_euclid(MINUTE_MS) + i64::from(after.rem_euclid(MINUTE_MS) > 0))
    };
    text.parse().ok().or_else(by_moment)
}
