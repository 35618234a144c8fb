//! Readers of live events, as they are counted.

use metrics::Gauge;
use windrow_model::metric::Metric;

const READERS: Metric =
    Metric::gauge("windrow_stream_readers", &["kind"], "Connected readers of live events, by kind of stream.");

pub const METRICS: &[Metric] = &[READERS];

pub const SSE: &str = "sse";
pub const WEBSOCKET: &str = "websocket";
const KINDS: &[&str] = &[SSE, WEBSOCKET];

/// Counted as long as it lives.
pub struct Counted(Gauge);

impl Counted {
    pub fn new(kind: &'static str) -> Self {
        let gauge = readers(kind);
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Exports 0 before the first reader connects.
pub fn announce() {
    KINDS.iter().for_each(|kind| readers(kind).set(0.0));
}

fn readers(kind: &'static str) -> Gauge {
    metrics::gauge!(READERS.name, "kind" => kind)
}
