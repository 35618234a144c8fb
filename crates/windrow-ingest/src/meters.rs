//! What ingest measures (I11): records and bytes by outcome, and how long batches take.

use metrics::{Counter, Histogram};
use windrow_model::ingest::Stats;
use windrow_model::metric::{CALL_SECONDS, Metric};

const RECORDS: Metric = Metric::counter(
    "windrow_ingest_records_total",
    &["fate"],
    "Records of ingest by outcome (upserted, skipped, failed): throughput, and failed / (upserted + failed).",
);
const BYTES: Metric = Metric::counter(
    "windrow_ingest_bytes_total",
    &["direction"],
    "Bytes read from sources and handed to destinations.",
);
const TRANSIENT: Metric = Metric::counter(
    "windrow_ingest_transient_errors_total",
    &[],
    "Requests to sources that failed in passing and were made again.",
);
const FETCH_SECONDS: Metric = Metric::histogram(
    "windrow_ingest_batch_latency_seconds",
    &[],
    CALL_SECONDS,
    "Time the source took for the pages of one batch.",
);

/// All that is measured here.
pub const METRICS: &[Metric] = &[RECORDS, BYTES, TRANSIENT, FETCH_SECONDS];

pub struct Meters {
    upserted: Counter,
    skipped: Counter,
    failed: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
    transient: Counter,
    latency: Histogram,
}

/// They are there from the start, at zero.
pub fn announce() {
    drop(Meters::new());
}

impl Meters {
    pub fn new() -> Self {
        Self {
            upserted: metrics::counter!(RECORDS.name, "fate" => "upserted"),
            skipped: metrics::counter!(RECORDS.name, "fate" => "skipped"),
            failed: metrics::counter!(RECORDS.name, "fate" => "failed"),
            bytes_in: metrics::counter!(BYTES.name, "direction" => "in"),
            bytes_out: metrics::counter!(BYTES.name, "direction" => "out"),
            transient: metrics::counter!(TRANSIENT.name),
            latency: metrics::histogram!(FETCH_SECONDS.name),
        }
    }

    pub fn batch(&self, stats: &Stats) {
        let count = |counter: &Counter, number: i64| counter.increment(number.max(0) as u64);
        count(&self.upserted, stats.upserted);
        count(&self.skipped, stats.skipped);
        count(&self.failed, stats.failed);
        count(&self.bytes_in, stats.bytes_in);
        count(&self.bytes_out, stats.bytes_out);
        count(&self.transient, stats.transient_errors);
        self.latency.record(stats.latency_ms as f64 / 1000.0);
    }
}
