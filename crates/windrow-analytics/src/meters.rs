//! What the relay measures.

use windrow_model::analytics::RelayStatus;
use windrow_model::metric::Metric;

use crate::schema::KEYS;

const UP: Metric = Metric::gauge("windrow_analytics_up", &[], "0 while the relay cannot send to ClickHouse, else 1.");
const LAG: Metric =
    Metric::gauge("windrow_analytics_lag_events", &[], "Events of the outbox that ClickHouse does not have yet.");
const LAG_SECONDS: Metric =
    Metric::gauge("windrow_analytics_lag_seconds", &[], "Time since ClickHouse was last up to date.");
const MARKS: Metric =
    Metric::gauge("windrow_analytics_resync_jobs", &[], "Jobs that the relay still has to send as a whole.");
const ROWS: Metric = Metric::counter("windrow_analytics_rows_total", &["table"], "Rows sent to ClickHouse.");
const FAILURES: Metric =
    Metric::counter("windrow_analytics_failures_total", &[], "Failed attempts to send rows to ClickHouse.");

pub const METRICS: &[Metric] = &[UP, LAG, LAG_SECONDS, MARKS, ROWS, FAILURES];

pub fn sent(table: &'static str, rows: u64) {
    metrics::counter!(ROWS.name, ROWS.labels[0] => table).increment(rows);
}

pub fn failed() {
    metrics::counter!(FAILURES.name).increment(1);
}

/// `behind_ms`: since when it has not been up to date.
pub fn show(status: &RelayStatus, behind_ms: i64) {
    metrics::gauge!(UP.name).set(if status.relay.trouble.is_none() { 1.0 } else { 0.0 });
    metrics::gauge!(LAG.name).set(status.lag() as f64);
    metrics::gauge!(LAG_SECONDS.name).set(behind_ms as f64 / 1000.0);
    metrics::gauge!(MARKS.name).set(status.jobs as f64);
}

/// Without it, what never moved would not be shown.
pub fn announce() {
    metrics::gauge!(UP.name).set(1.0);
    [LAG, LAG_SECONDS, MARKS].iter().for_each(|metric| metrics::gauge!(metric.name).set(0.0));
    metrics::counter!(FAILURES.name).increment(0);
    KEYS.iter().for_each(|(table, _)| sent(table, 0));
}
