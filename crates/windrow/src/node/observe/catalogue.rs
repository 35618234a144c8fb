//! All metrics there are, and the text a Prometheus reads. What is not listed is not described, and a test
//! finds it.

use metrics::Unit;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use windrow_model::metric::{Kind, Metric};

use crate::error::{Error, Result};
use crate::node::observe::{gauges, http, otlp, streams};

/// In the order of the docs.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    let of_server = [gauges::METRICS, http::METRICS, streams::METRICS, otlp::METRICS];
    [windrow_engine::METRICS, windrow_store::METRICS, windrow_ingest::METRICS, windrow_analytics::METRICS]
        .into_iter()
        .chain(of_server)
        .flatten()
}

/// Where everything measured in this process is gathered.
#[derive(Clone)]
pub struct Exposition(PrometheusHandle);

impl Exposition {
    /// Before anything is measured: a handle taken earlier is not connected.
    pub fn install() -> Result<Self> {
        let broken = |error: &dyn std::fmt::Display| Error::new(format!("metrics cannot be gathered: {error}"), "");
        let mut builder = PrometheusBuilder::new();
        for metric in all() {
            if let Kind::Histogram(bounds) = metric.kind {
                let matcher = Matcher::Full(metric.name.to_owned());
                builder = builder.set_buckets_for_metric(matcher, bounds).map_err(|error| broken(&error))?;
            }
        }
        let handle = builder.install_recorder().map_err(|error| broken(&error))?;
        all().for_each(describe);
        streams::announce();
        otlp::announce();
        windrow_ingest::announce();
        windrow_analytics::meters::announce();
        Ok(Self(handle))
    }

    pub fn text(&self) -> String {
        self.0.render()
    }

    /// Values of histograms are kept until they are gathered: to be called now and then.
    pub fn gather(&self) {
        self.0.run_upkeep();
    }
}

fn describe(metric: &Metric) {
    let Metric { name, kind, help, .. } = *metric;
    match kind {
        Kind::Counter => metrics::describe_counter!(name, Unit::Count, help),
        Kind::Gauge => metrics::describe_gauge!(name, Unit::Count, help),
        Kind::Histogram(_) => metrics::describe_histogram!(name, Unit::Count, help),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The table of `docs/observability.md`.
    fn table() -> String {
        let mut text = String::from("| metric | kind | labels | |\n|---|---|---|---|\n");
        for Metric { name, kind, labels, help } in all() {
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram(_) => "histogram",
            };
            let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
            text += &format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", "));
        }
        text
    }

    #[test]
    fn the_table_of_metrics_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md");
        let (begin, end) = ("<!-- metrics -->\n", "<!-- /metrics -->\n");
        let page = std::fs::read_to_string(path).unwrap();
        let (head, rest) = page.split_once(begin).unwrap();
        let (found, tail) = rest.split_once(end).unwrap();
        if std::env::var_os("WINDROW_WRITE_DOCS").is_some() {
            std::fs::write(path, format!("{head}{begin}{}{end}{tail}", table())).unwrap();
            return;
        }
        assert!(found == table(), "docs/observability.md does not list the metrics there are; run `make docs`");
    }

    #[test]
    fn names_follow_the_conventions() {
        let names: BTreeSet<&str> = all().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all().count(), "each name once");
        for metric in all() {
            let is_own = metric.name.starts_with("windrow_") || metric.name.starts_with("process_");
            assert!(is_own, "{}", metric.name);
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
            assert!(metric.help.ends_with('.'), "{}", metric.name);
        }
    }
}
