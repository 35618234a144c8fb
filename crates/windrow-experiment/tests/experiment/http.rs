//! A service over HTTP: asked at once, polled, or calling back; and what a crash in between costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Json;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use windrow_model::ErrorClass;
use windrow_model::step::Usage;
use windrow_model::workload::{Done, Halt, Program, WorkItem};

use crate::endpoint::{Call, Endpoint};
use crate::fixture::{Folder, KEY, items, program};
use crate::journal::MemoryJournal;

const ROW: &str = "{\"id\":7,\"question\":\"Capital of France?\",\"tags\":[\"a\"],\"answer\":\"Paris\"}\n";

fn job(http: &str) -> String {
    format!(
        "kind: experiment\nname: n\ndataset: capitals.jsonl\ntarget:\n  http: {{ {http} }}\nevaluators:\n  - exact: {{ \
         expect: \"{{{{ answer }}}}\" }}\n"
    )
}

/// A program and the one item it has.
struct Prepared {
    program: Arc<dyn Program>,
    item: WorkItem,
}

async fn prepared(http: &str) -> Prepared {
    let (_folder, program) = program(&job(http), ROW).await;
    let item = items(&*program).await.remove(0);
    Prepared { program, item }
}

async fn run(prepared: &Prepared, journal: &MemoryJournal) -> Result<Done, Halt> {
    prepared.program.execute(&prepared.item, journal).await
}

fn failure(result: Result<Done, Halt>) -> windrow_model::Failure {
    match result {
        Err(Halt::Failed(failure)) => failure,
        other => panic!("it fails: {other:?}"),
    }
}

fn posts(endpoint: &Endpoint) -> usize {
    endpoint.calls().iter().filter(|call| call.method == Method::POST).count()
}

#[tokio::test]
async fn a_request_is_made_of_templates_and_its_answer_found_by_path() {
    let endpoint = Endpoint::start(|call| {
        let echoed = call.headers["authorization"].to_str().unwrap();
        Json(json!({ "data": { "text": "Paris" }, "meta": { "in": 4, "out": 1, "usd": 0.002 }, "echo": echoed,
                     "calls": [{ "name": "look_up" }] }))
        .into_response()
    })
    .await;
    let program = prepared(&format!(
        "url: \"{}/ask/{{{{ id }}}}\", headers: {{ authorization: \"Bearer ${{env:TEST_KEY}}\", x-row: \"{{{{ id }}}}\" }}, \
         body: {{ q: \"{{{{ question }}}}\", id: \"{{{{ id }}}}\", tags: \"{{{{ tags }}}}\", n: 3 }}, output: $.data.text, \
         tool_calls: $.calls, usage: {{ input: $.meta.in, output: $.meta.out, cost: $.meta.usd }}",
        endpoint.origin()
    ))
    .await;
    let journal = MemoryJournal::default();
    let done = run(&program, &journal).await.unwrap();
    assert_eq!(done.scores[0].value, Some(1.0), "{:?}", done.scores);
    assert_eq!(done.usage, Usage { tokens_in: 4, tokens_out: 1, cost_nanos: 2_000_000 });
    let call = endpoint.calls().remove(0);
    assert_eq!((call.method.as_str(), call.path.as_str()), ("POST", "/ask/7"));
    assert_eq!(call.body, json!({ "q": "Capital of France?", "id": 7, "tags": ["a"], "n": 3 }));
    assert_eq!(
        (&call.headers["authorization"], &call.headers["x-row"]),
        (&format!("Bearer {KEY}").parse().unwrap(), &"7".parse().unwrap())
    );
    assert!(call.headers.contains_key("idempotency-key"));
    let told = format!("{:?}", journal.told());
    assert!(!told.contains(KEY) && told.contains("look_up"), "{told}");
}

#[tokio::test]
async fn an_error_in_a_good_answer_and_a_bad_status_are_failures() {
    let endpoint = Endpoint::refusing(200, None, json!({ "error": "out of ideas" })).await;
    let http = format!("url: \"{}/ask\", output: $.text, error: $.error", endpoint.origin());
    let reported = failure(run(&prepared(&http).await, &MemoryJournal::default()).await);
    assert_eq!(reported.class, ErrorClass::InvalidOutput);
    assert!(reported.message.contains("out of ideas"), "{reported}");
    let endpoint = Endpoint::refusing(503, Some(("retry-after", "2")), json!({ "message": "busy" })).await;
    let http = format!("url: \"{}/ask\"", endpoint.origin());
    let busy = failure(run(&prepared(&http).await, &MemoryJournal::default()).await);
    assert_eq!((busy.class, busy.retry_after_ms), (ErrorClass::Server, Some(2000)));
    assert_eq!(endpoint.calls()[0].method, Method::GET);
}

/// Takes work in under `/jobs`; the n-th look at it says what `progress` says.
async fn service(progress: impl Fn(usize) -> Value + Send + Sync + 'static) -> Endpoint {
    let looks = AtomicUsize::new(0);
    Endpoint::start(move |call: &Call| -> Response {
        match call.method {
            Method::POST => {
                (StatusCode::ACCEPTED, [("location", "/jobs/j1")], Json(json!({ "id": "j1" }))).into_response()
            }
            _ => Json(progress(looks.fetch_add(1, Ordering::SeqCst))).into_response(),
        }
    })
    .await
}

fn polled(endpoint: &Endpoint, more: &str) -> String {
    format!(
        "url: \"{}/jobs\", body: {{ q: \"{{{{ question }}}}\" }}, output: $.result, poll: {{ url: \"/jobs/{{{{ response.id }}}}\", \
         until: 'response.state == \"done\"', failed: 'response.state == \"failed\"', interval: 10ms{more} }}",
        endpoint.origin()
    )
}

#[tokio::test]
async fn a_service_is_polled_until_it_is_done() {
    let endpoint = service(|look| match look {
        0 | 1 => json!({ "state": "running" }),
        _ => json!({ "state": "done", "result": "Paris" }),
    })
    .await;
    let journal = MemoryJournal::default();
    let done = run(&prepared(&polled(&endpoint, "")).await, &journal).await.unwrap();
    assert_eq!(done.scores[0].value, Some(1.0), "{:?}", done.scores);
    assert_eq!(journal.story(), ["begin target", "done", "begin collect", "done", "whole evaluator exact"]);
    let paths: Vec<_> = endpoint.calls().into_iter().map(|call| call.path).collect();
    assert_eq!(paths, ["/jobs", "/jobs/j1", "/jobs/j1", "/jobs/j1"]);
}

/// Design rule 4: a crash between handing in and the result hands nothing in twice.
#[tokio::test]
async fn a_crash_while_waiting_does_not_hand_in_again() {
    let ready = Arc::new(AtomicUsize::new(0));
    let said = ready.clone();
    let endpoint = service(move |_| match said.load(Ordering::SeqCst) {
        0 => json!({ "state": "running" }),
        _ => json!({ "state": "done", "result": "Paris" }),
    })
    .await;
    let program = prepared(&polled(&endpoint, "")).await;
    let first = MemoryJournal::default();
    let looked = async {
        while endpoint.calls().len() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        ended = run(&program, &first) => panic!("it cannot be done yet: {ended:?}"),
        () = looked => {}
    }
    ready.store(1, Ordering::SeqCst);
    let second = first.next_attempt();
    run(&program, &second).await.unwrap();
    assert_eq!(second.story(), ["reuse target", "begin collect", "done", "whole evaluator exact"]);
    assert_eq!(posts(&endpoint), 1);
}

#[tokio::test]
async fn work_that_failed_or_came_too_late_is_handed_in_anew_by_the_next_attempt() {
    let endpoint = service(|look| match look {
        0 => json!({ "state": "failed", "why": "tired" }),
        _ => json!({ "state": "done", "result": "Paris" }),
    })
    .await;
    let program = prepared(&polled(&endpoint, "")).await;
    let first = MemoryJournal::default();
    let failed = failure(run(&program, &first).await);
    assert_eq!(failed.class, ErrorClass::Server);
    assert!(failed.detail.unwrap().as_str().contains("tired"));
    let second = first.next_attempt();
    run(&program, &second).await.unwrap();
    assert_eq!(second.story()[..4], ["reuse target", "reuse collect", "begin target", "done"]);
    assert_eq!(posts(&endpoint), 2);

    let endpoint = service(|_| json!({ "state": "running" })).await;
    let late = failure(run(&prepared(&polled(&endpoint, ", timeout: 30ms")).await, &MemoryJournal::default()).await);
    assert_eq!(late.class, ErrorClass::Timeout, "{late}");
}

/// A secret goes to the service's own origin and nowhere else, wherever the service points.
#[tokio::test]
async fn secrets_are_not_sent_to_another_origin() {
    let stranger = Endpoint::refusing(200, None, json!({ "state": "done", "result": "Paris" })).await;
    let place = format!("{}/steal", stranger.origin());
    let endpoint = Endpoint::start(move |_| Json(json!({ "next": place })).into_response()).await;
    let http = format!(
        "url: \"{}/jobs\", body: {{}}, headers: {{ x-key: \"${{env:TEST_KEY}}\" }}, output: $.result, poll: {{ url: \
         \"{{{{ response.next }}}}\", until: 'response.state == \"done\"' }}",
        endpoint.origin()
    );
    run(&prepared(&http).await, &MemoryJournal::default()).await.unwrap();
    assert_eq!(endpoint.calls()[0].headers["x-key"], KEY);
    assert!(!stranger.calls()[0].headers.contains_key("x-key"));
}

async fn free_port() -> u16 {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

/// The status of the answer, or 0 where nobody listens.
async fn call_back(url: &str, body: Value) -> u16 {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.post(url).body(body.to_string()).send().await.map_or(0, |answer| answer.status().as_u16())
}

fn called_back(endpoint: &Endpoint, port: u16, more: &str) -> String {
    format!(
        "url: \"{}/jobs\", body: {{ reply_to: \"{{{{ callback_url }}}}\", id: \"{{{{ token }}}}\" }}, output: $.result, callback: \
         {{ listen: \"127.0.0.1:{port}\"{more} }}",
        endpoint.origin()
    )
}

/// The token is on record before the call; a restart waits for the same one and calls nothing.
#[tokio::test]
async fn a_callback_is_awaited_also_after_a_restart() {
    let endpoint = Endpoint::refusing(202, None, json!({ "taken": true })).await;
    let port = free_port().await;
    let http = called_back(&endpoint, port, "");
    let program = prepared(&http).await;
    let first = MemoryJournal::default();
    let handed_in = async {
        while first.story().len() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        ended = run(&program, &first) => panic!("nobody has called yet: {ended:?}"),
        () = handed_in => {}
    }
    drop(program);
    let url = endpoint.calls()[0].body["reply_to"].as_str().unwrap().to_owned();
    let crate::journal::Told::Begin(intent) = first.told().remove(0) else { panic!("an intent") };
    assert_eq!(url, format!("http://127.0.0.1:{port}/{}", intent.key));
    assert_eq!(endpoint.calls()[0].body["id"], intent.key.to_string());

    let program = prepared(&http).await;
    let second = first.next_attempt();
    let service = async {
        // Nobody listens, or nobody expects it, until the restarted run waits again.
        while call_back(&url, json!({ "result": "Paris" })).await != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let both = async { tokio::join!(run(&program, &second), service) };
    let (done, ()) = tokio::time::timeout(Duration::from_secs(20), both).await.expect("the call back is taken");
    assert_eq!(done.unwrap().scores[0].value, Some(1.0));
    assert_eq!(second.story(), ["reuse target", "begin collect", "done", "whole evaluator exact"]);
    assert_eq!(endpoint.calls().len(), 1);
    assert_eq!(call_back(&format!("http://127.0.0.1:{port}/no-such-token"), json!({})).await, 404);
}

#[tokio::test]
async fn a_callback_that_does_not_come_is_late() {
    let endpoint = Endpoint::refusing(202, None, json!({})).await;
    let http = called_back(&endpoint, free_port().await, ", timeout: 20ms");
    let late = failure(run(&prepared(&http).await, &MemoryJournal::default()).await);
    assert_eq!(late.class, ErrorClass::Timeout, "{late}");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let report = |http: &str| Folder::new(&[("job.yaml", &job(http)), ("capitals.jsonl", ROW)]).report();
    for (http, part) in [
        ("url: \"ftp://x/y\"", "must begin with http:// or https://"),
        ("url: \"http://x/{{ idd }}\"", "did you mean `id`?"),
        ("url: \"http://x/${env:TEST_KEY}\"", "only at the beginning"),
        ("url: \"${env:NO_SUCH}/y\"", "NO_SUCH is not set"),
        ("url: \"http://x\", body: { k: \"${env:TEST_KEY}\" }", "must hold no secret"),
        ("url: \"http://x\", body: { q: \"{{ questin }}\" }", "did you mean `question`?"),
        ("url: \"http://x\", headers: { a: \"${env:TEST_KEY} {{ id }}\" }", "a reference and a template"),
        ("url: \"http://x\", output: \"data.text\"", "is not a JSONPath query"),
        ("url: \"http://x\", poll: { url: /j, until: \"response.\" }", "is not an expression"),
        ("url: \"http://x\", callback: { listen: \"127.0.0.1:0\" }", "the same after a restart"),
        ("url: \"http://x\", method: \"G E T\"", "is not a method"),
    ] {
        let said = report(http);
        assert!(said.contains(part), "{http}: {said}");
    }
}
