//! Traces over OTLP. Spans wait in a bounded queue and are sent in batches; when the collector is down or too
//! slow they are dropped and counted, work continues, and one log line reports it (T14).

mod shipping;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metrics::Counter;
use tokio::sync::{mpsc, oneshot};
use windrow_model::metric::Metric;
use windrow_model::trace::{Span, TraceId, Tracer};

use crate::error::Result;
use shipping::Shipping;

const SPANS: Metric =
    Metric::counter("windrow_trace_spans_total", &["fate"], "Spans sent to the OTLP collector, or dropped.");

pub const METRICS: &[Metric] = &[SPANS];

/// Spans that may wait; about 4 MB.
const QUEUE: usize = 8192;
/// How long the last ones may take to be sent.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// Where traces are sent.
#[derive(Debug, Clone, clap::Args)]
pub struct TraceArgs {
    /// Send traces to this OpenTelemetry collector (OTLP over HTTP), e.g. http://127.0.0.1:4318
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp: Option<String>,
    /// Share of items to trace, e.g. 5% or 0.05
    #[arg(long, value_name = "SHARE", env = "WINDROW_TRACE_RATIO", default_value = "1", value_parser = share)]
    pub trace_ratio: f64,
    /// Include the inputs and outputs of steps in traces
    #[arg(long, env = "WINDROW_TRACE_CONTENT")]
    pub trace_content: bool,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be between 0% and 100%, e.g. 5% or 0.05".to_owned())
}

pub struct Otlp {
    queue: mpsc::Sender<Span>,
    ratio: f64,
    content: bool,
    dropped: Counter,
    /// Whether it was said already that the queue is full.
    full: AtomicBool,
}

/// What sends spans in the background.
pub struct Sending {
    shipping: tokio::task::JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl Sending {
    /// Sends what waits, but does not wait for long for a collector that does not answer.
    pub async fn finish(self) {
        let _ = self.end.send(());
        let _ = tokio::time::timeout(LAST_SPANS, self.shipping).await;
    }
}

impl Otlp {
    /// `None` where no collector was named.
    pub fn start(args: &TraceArgs) -> Result<Option<(Arc<Self>, Sending)>> {
        let Some(url) = args.otlp.as_deref().filter(|url| !url.is_empty()) else { return Ok(None) };
        let (queue, waiting) = mpsc::channel(QUEUE);
        let [sent, dropped] = ["sent", "dropped"].map(spans);
        let shipping = Shipping::to(url, sent, dropped.clone())?;
        let (end, ended) = oneshot::channel();
        let shipping = tokio::spawn(shipping.ship(waiting, ended));
        let (ratio, content) = (args.trace_ratio, args.trace_content);
        let tracer = Self { queue, ratio, content, dropped, full: AtomicBool::new(false) };
        Ok(Some((Arc::new(tracer), Sending { shipping, end })))
    }
}

impl Tracer for Otlp {
    /// By the trace alone, so that all attempts at an item are traced, or none.
    fn samples(&self, trace: TraceId) -> bool {
        (trace.0 as u64) as f64 <= self.ratio * u64::MAX as f64 && self.ratio > 0.0
    }

    fn takes_content(&self) -> bool {
        self.content
    }

    fn ended(&self, span: Span) {
        if self.queue.try_send(span).is_ok() {
            return;
        }
        self.dropped.increment(1);
        if !self.full.swap(true, Ordering::Relaxed) {
            tracing::warn!("trace queue full, spans dropped");
        }
    }
}

fn spans(fate: &'static str) -> Counter {
    metrics::counter!(SPANS.name, "fate" => fate)
}

/// So that there are numbers where no span is made.
pub fn announce() {
    ["sent", "dropped"].map(spans).iter().for_each(|counter| counter.increment(0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracer(ratio: f64) -> (Otlp, mpsc::Receiver<Span>) {
        let (queue, waiting) = mpsc::channel(2);
        let dropped = metrics::counter!(SPANS.name, "fate" => "dropped");
        (Otlp { queue, ratio, content: false, dropped, full: AtomicBool::new(false) }, waiting)
    }

    #[test]
    fn a_full_queue_holds_nobody_up() {
        let (tracer, mut waiting) = tracer(1.0);
        for n in 0..5 {
            tracer.ended(Span {
                trace: TraceId(1),
                id: windrow_model::trace::SpanId(n + 1),
                parent: None,
                name: String::new(),
                is_call: false,
                started_at: windrow_model::Time(0),
                took: Duration::ZERO,
                attributes: Vec::new(),
                failed: false,
            });
        }
        let kept: Vec<u64> = std::iter::from_fn(|| waiting.try_recv().ok()).map(|span| span.id.0).collect();
        assert_eq!(kept, [1, 2], "the rest is dropped");
        assert!(tracer.full.load(Ordering::Relaxed), "and that was said");
    }

    #[test]
    fn a_share_of_the_traces_is_sampled_and_always_the_same() {
        use windrow_model::{ItemId, RunId};
        let sampled = |ratio| {
            let (tracer, _waiting) = tracer(ratio);
            (0..10_000).filter(|n| tracer.samples(TraceId::of(RunId(1), ItemId(*n)))).count()
        };
        assert_eq!((sampled(0.0), sampled(1.0)), (0, 10_000));
        assert!((900..1100).contains(&sampled(0.1)), "{}", sampled(0.1));
        assert_eq!(sampled(0.1), sampled(0.1));
    }
}
