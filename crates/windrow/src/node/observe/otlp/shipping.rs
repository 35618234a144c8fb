//! Sends spans to the collector, in batches, and says once when it cannot.

use std::time::{Duration, SystemTime};

use metrics::Counter;
use opentelemetry::trace::{SpanContext, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value as OtelValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::{mpsc, oneshot};
use windrow_model::trace::{Span, Value};

use crate::error::{Error, Result};

const BATCH: usize = 512;
/// A batch is sent when it is full or this old.
const LINGER: Duration = Duration::from_millis(500);
const TIMEOUT: Duration = Duration::from_secs(10);

pub struct Shipping {
    exporter: SpanExporter,
    url: String,
    sent: Counter,
    dropped: Counter,
    down: bool,
}

impl Shipping {
    pub fn to(url: &str, sent: Counter, dropped: Counter) -> Result<Self> {
        Ok(Self { exporter: exporter(url)?, url: url.to_owned(), sent, dropped, down: false })
    }

    /// Until it is told to end, and then until nothing waits any more.
    pub async fn ship(mut self, mut waiting: mpsc::Receiver<Span>, mut ended: oneshot::Receiver<()>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                biased;
                received = waiting.recv_many(&mut batch, BATCH) => if received == 0 { return },
                _ = &mut ended, if !ended.is_terminated() => {
                    waiting.close();
                    continue;
                }
            }
            let full = async { while batch.len() < BATCH && waiting.recv_many(&mut batch, BATCH).await > 0 {} };
            let _ = tokio::time::timeout(LINGER, full).await;
            self.send(std::mem::take(&mut batch)).await;
        }
    }

    async fn send(&mut self, batch: Vec<Span>) {
        let spans = batch.len() as u64;
        match self.exporter.export(batch.into_iter().map(exported).collect()).await {
            Ok(()) => {
                self.sent.increment(spans);
                if std::mem::take(&mut self.down) {
                    tracing::info!(collector = self.url, "trace collector reachable again");
                }
            }
            Err(error) => {
                self.dropped.increment(spans);
                if !std::mem::replace(&mut self.down, true) {
                    tracing::warn!(collector = self.url, %error, "trace export failed, spans dropped");
                }
            }
        }
    }
}

fn exporter(url: &str) -> Result<SpanExporter> {
    let wrong = |error: &dyn std::fmt::Display| {
        Error::new(format!("traces cannot be sent to {url}: {error}"), "name a collector, as in http://127.0.0.1:4318")
    };
    let base: reqwest::Url = url.parse().map_err(|error| wrong(&error))?;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(wrong(&"the URL must begin with http:// or https://"));
    }
    // An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder().timeout(TIMEOUT);
    if is_loopback(&base) {
        client = client.no_proxy();
    }
    let client = client.build().map_err(|error| wrong(&error))?;
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(format!("{}/v1/traces", url.trim_end_matches('/')))
        .with_timeout(TIMEOUT)
        .build()
        .map_err(|error| wrong(&error))?;
    // `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are obeyed where they are set.
    let named = std::env::var_os("OTEL_SERVICE_NAME").is_some();
    let mut resource = Resource::builder();
    if !named {
        resource = resource.with_service_name("windrow");
    }
    let resource = resource.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))).build();
    exporter.set_resource(&resource);
    Ok(exporter)
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn exported(span: Span) -> SpanData {
    let id = |id: u64| opentelemetry::trace::SpanId::from(id);
    let trace = opentelemetry::trace::TraceId::from(span.trace.0);
    let start_time = SystemTime::UNIX_EPOCH + Duration::from_millis(span.started_at.0.max(0) as u64);
    SpanData {
        span_context: SpanContext::new(trace, id(span.id.0), TraceFlags::SAMPLED, false, TraceState::default()),
        parent_span_id: span.parent.map_or(opentelemetry::trace::SpanId::INVALID, |parent| id(parent.0)),
        parent_span_is_remote: false,
        span_kind: if span.is_call { SpanKind::Client } else { SpanKind::Internal },
        name: span.name.into(),
        start_time,
        end_time: start_time + span.took,
        attributes: span.attributes.into_iter().map(|(name, value)| KeyValue::new(name, otel(value))).collect(),
        dropped_attributes_count: 0,
        events: Default::default(),
        links: Default::default(),
        status: if span.failed { Status::error("") } else { Status::Unset },
        instrumentation_scope: InstrumentationScope::builder("windrow").with_version(env!("CARGO_PKG_VERSION")).build(),
    }
}

fn otel(value: Value) -> OtelValue {
    match value {
        Value::Text(text) => text.into(),
        Value::Number(number) => number.into(),
        Value::Real(real) => real.into(),
        Value::Texts(texts) => OtelValue::Array(Array::String(texts.into_iter().map(StringValue::from).collect())),
    }
}
