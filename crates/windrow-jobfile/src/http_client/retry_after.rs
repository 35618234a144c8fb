//! How long a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.

use std::time::SystemTime;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

pub fn retry_after_ms(headers: &HeaderMap) -> Option<i64> {
    retry_after_ms_from(headers, SystemTime::now())
}

fn retry_after_ms_from(headers: &HeaderMap, now: SystemTime) -> Option<i64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Some(whole_ms(ms));
    }
    let given = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = given.parse::<f64>() {
        return Some(whole_ms(seconds * 1000.0));
    }
    let until = jiff::fmt::rfc2822::parse(given).ok()?.timestamp();
    let now = Timestamp::try_from(now).ok()?;
    Some((until.as_millisecond() - now.as_millisecond()).max(0))
}

fn whole_ms(ms: f64) -> i64 {
    ms.max(0.0).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn seconds_milliseconds_and_dates_are_understood() {
        let now = UNIX_EPOCH + Duration::from_secs(1_445_412_480);
        let wait = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after_ms_from(&headers, now)
        };
        assert_eq!(wait("retry-after", "7"), Some(7_000));
        assert_eq!(wait("retry-after", "1.5"), Some(1_500));
        assert_eq!(wait("retry-after-ms", "250"), Some(250));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), Some(30_000));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT"), Some(0));
        assert_eq!(wait("retry-after", "later"), None);
    }
}
