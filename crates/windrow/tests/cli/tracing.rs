//! Traces over OTLP (X4, T14): one trace per item, one span per step, propagated to the called endpoint, without
//! prompts or answers.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;

use crate::client::Served;
use crate::collector::{Collector, attribute, hex};
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

const ROWS: usize = 6;

fn run_traced(endpoint: &Endpoint, arguments: &[&str]) -> String {
    let place = Place::empty();
    let server = Served::start(&place, arguments);
    let file = place.served_job("traced", endpoint, ROWS, 2).replace("\"{{ n }}\"", "\"the secret of {{ n }}\"");
    server.submit(&file).with_status(201);
    server.wait_for_state("traced", "completed");
    server.signal(Signal::TERM);
    server.finish().ended_with(0).stderr
}

#[test]
fn every_item_is_a_trace_with_a_span_per_step_and_without_content() {
    let (endpoint, collector) = (Endpoint::open(), Collector::start());
    run_traced(&endpoint, &["--otlp", &collector.url]);
    let spans = collector.spans();
    assert!(collector.paths().iter().all(|path| path == "/v1/traces"), "{:?}", collector.paths());
    let traces: BTreeSet<String> = spans.iter().map(|span| hex(&span.trace_id)).collect();
    assert_eq!(traces.len(), ROWS);
    let items: Vec<_> = spans.iter().filter(|span| span.parent_span_id.is_empty()).collect();
    assert_eq!(items.len(), ROWS);
    for item in &items {
        assert_eq!(item.name, "experiment item");
        assert!(attribute(item, "windrow.run.id").unwrap().starts_with("run_"));
        assert!(attribute(item, "windrow.job.id").unwrap().starts_with("job_"));
        assert_eq!(attribute(item, "windrow.attempt").as_deref(), Some("1"));
        assert_eq!(attribute(item, "windrow.outcome").as_deref(), Some("succeeded"));
        let steps: Vec<_> = spans.iter().filter(|span| span.parent_span_id == item.span_id).collect();
        assert!(steps.iter().all(|step| step.trace_id == item.trace_id));
        let call = steps.iter().find(|step| step.name == "chat any").unwrap();
        for (name, value) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "any"),
            ("gen_ai.response.model", "any"),
            ("gen_ai.usage.input_tokens", "3"),
            ("gen_ai.usage.output_tokens", "2"),
            ("windrow.step.action", "target"),
            ("server.address", "127.0.0.1"),
        ] {
            assert_eq!(attribute(call, name).as_deref(), Some(value), "{name}");
        }
        assert!(item.start_time_unix_nano <= call.start_time_unix_nano);
        assert!(call.start_time_unix_nano < call.end_time_unix_nano);
        assert!(steps.iter().any(|step| step.name == "evaluator exact"), "{steps:?}");
    }
    let joined: BTreeSet<String> = endpoint.traceparents().into_iter().collect();
    let calls = spans.iter().filter(|span| span.name == "chat any");
    let expected: BTreeSet<String> =
        calls.map(|span| format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id))).collect();
    assert_eq!(joined, expected, "the endpoint can join the very span of its call");
    let everything = format!("{spans:?}");
    assert!(!everything.contains("the secret of") && !everything.contains("OPENAI"), "{everything}");
}

#[test]
fn a_failed_step_has_its_error_class_and_optionally_its_content() {
    let (endpoint, collector) = (Endpoint::open(), Collector::start());
    endpoint.reacts_with([crate::endpoint::Reaction::ServerError]);
    run_traced(&endpoint, &["--otlp", &collector.url, "--trace-content"]);
    let spans = collector.spans();
    let failed: Vec<_> = spans.iter().filter(|span| attribute(span, "error.type").is_some()).collect();
    let words: BTreeSet<Option<String>> = failed.iter().map(|span| attribute(span, "error.type")).collect();
    assert_eq!(words, BTreeSet::from([Some("server".to_owned())]));
    // The step and its attempt; the retry is a span of the same trace.
    assert_eq!(failed.len(), 2);
    let mut tries: BTreeMap<String, usize> = BTreeMap::new();
    for span in spans.iter().filter(|span| span.parent_span_id.is_empty()) {
        *tries.entry(hex(&span.trace_id)).or_default() += 1;
    }
    assert_eq!((tries.len(), tries.values().max()), (ROWS, Some(&2)));
    assert!(format!("{spans:?}").contains("the secret of"));
}

#[test]
fn a_command_sends_its_traces_before_it_ends() {
    let (endpoint, collector) = (Endpoint::open(), Collector::start());
    let place = Place::with_rows(&endpoint, ROWS, 2);
    place.windrow(&["run", "job.yaml", "--quiet", "--otlp", &collector.url]).ended_with(0);
    let items = collector.spans().iter().filter(|span| span.parent_span_id.is_empty()).count();
    assert_eq!(items, ROWS);
    let said = place.windrow(&["run", "job.yaml", "--new", "--otlp", "collector:4318"]).ended_with(1).stderr;
    assert!(said.contains("http://127.0.0.1:4318"), "{said}");
}

#[test]
fn none_are_sent_when_none_are_sampled() {
    let (endpoint, collector) = (Endpoint::open(), Collector::start());
    run_traced(&endpoint, &["--otlp", &collector.url, "--trace-ratio", "0"]);
    assert_eq!(collector.spans().len(), 0);
    assert_eq!(endpoint.traceparents(), Vec::<String>::new());
}

#[test]
fn an_unreachable_collector_only_drops_traces_and_is_logged_once() {
    let endpoint = Endpoint::open();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let place = Place::empty();
    let server = Served::start(&place, &["--otlp", &closed]);
    for name in ["one", "two"] {
        server.submit(&place.served_job(name, &endpoint, ROWS, 2)).with_status(201);
        server.wait_for_state(name, "completed");
        let dropped = "windrow_trace_spans_total{fate=\"dropped\"} ";
        let count = |text: &str| text.lines().find_map(|line| line.strip_prefix(dropped)?.parse::<usize>().ok());
        let expected = if name == "one" { ROWS } else { 4 * ROWS };
        wait_until("spans dropped", || count(&server.get("/metrics").body) >= Some(expected));
    }
    server.signal(Signal::TERM);
    let said = server.finish().ended_with(0).stderr;
    assert_eq!(said.matches("trace export failed").count(), 1, "{said}");
}
