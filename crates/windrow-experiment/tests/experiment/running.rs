//! One item from row to scores: what is called, what is recorded, what is reused.

use std::sync::atomic::Ordering;

use axum::response::IntoResponse;
use serde_json::json;
use windrow_model::step::{StepResult, Usage, Verdict};
use windrow_model::workload::{Done, Halt, Program};
use windrow_model::{ErrorClass, Failure};

use crate::endpoint::{Endpoint, completion};
use crate::fixture::{Folder, KEY, items, job, prepare, program};
use crate::journal::{MemoryJournal, Told};

const FRANCE: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n";

async fn run(program: &dyn Program, journal: &MemoryJournal) -> Result<Done, Halt> {
    let item = items(program).await.remove(0);
    program.execute(&item, journal).await
}

async fn fail(endpoint: &Endpoint, more: &str) -> (Failure, MemoryJournal) {
    let (_folder, program) = program(&job(&endpoint.base_url, more), FRANCE).await;
    let journal = MemoryJournal::default();
    let Err(Halt::Failed(failure)) = run(&*program, &journal).await else { panic!("the call fails") };
    assert_eq!(journal.story(), ["begin target".to_owned(), format!("failed {}", failure.class)]);
    (failure, journal)
}

/// E18, E19: the target is called once, its record holds input, output, tokens and latency.
#[tokio::test]
async fn a_row_is_asked_recorded_and_judged() {
    let endpoint = Endpoint::of_capitals().await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), FRANCE).await;
    let journal = MemoryJournal::default();
    let done = run(&*program, &journal).await.unwrap();
    assert_eq!((done.scores.len(), done.scores[0].name.as_str()), (1, "exact"));
    assert_eq!((done.scores[0].verdict, done.scores[0].value), (Verdict::Pass, Some(1.0)));
    assert_eq!(done.usage, Usage { tokens_in: 11, tokens_out: 3, cost_nanos: 0 });
    assert_eq!(journal.story(), ["begin target", "done", "whole evaluator exact"]);
    let told = journal.told();
    let (Told::Begin(intent), Told::Finish(_, StepResult::Done { output, .. })) = (&told[0], &told[1]) else {
        panic!("{told:?}")
    };
    assert_eq!(intent.input.value()["messages"], json!([{"role": "user", "content": "Capital of France?"}]));
    let output = output.value();
    assert_eq!(
        (&output["content"], &output["model"], &output["finish_reason"]),
        (&json!("Paris"), &json!("any-2024"), &json!("stop"))
    );
    assert_eq!(output["usage"]["total_tokens"], 14);
    assert_eq!(output["latency_ms"].as_i64(), Some(done.latency_ms));
    let calls = endpoint.calls();
    assert_eq!(calls[0].body, json!({"model": "any", "messages": [{"role": "user", "content": "Capital of France?"}]}));
    assert_eq!(calls[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(calls[0].headers["idempotency-key"], intent.key.to_string());
}

#[tokio::test]
async fn parameters_are_sent_and_a_missing_key_is_not() {
    let endpoint = Endpoint::of_capitals().await;
    let yaml = job(&endpoint.base_url, "")
        .replace(
            "model: any",
            "model: any, temperature: 0.5, max_tokens: 7, stop: [END], params: { logit_bias: { \"5\": 1 } }",
        )
        .replace("TEST_KEY", "NO_SUCH_KEY")
        .replace("  prompt:", "  system: You know capitals.\n  prompt:");
    let (_folder, program) = program(&yaml, FRANCE).await;
    run(&*program, &MemoryJournal::default()).await.unwrap();
    let call = endpoint.calls().remove(0);
    assert!(call.headers.get("authorization").is_none());
    assert_eq!(call.roles(), ["system", "user"]);
    assert_eq!((&call.body["temperature"], &call.body["max_tokens"]), (&json!(0.5), &json!(7)));
    assert_eq!((&call.body["stop"], &call.body["logit_bias"]), (&json!(["END"]), &json!({"5": 1})));
}

const TURNS: &str = "{\"topic\":\"capitals\",\"turns\":[{\"country\":\"France\",\"capital\":\"Paris\"},\
                     {\"country\":\"Japan\",\"capital\":\"Kyoto\"},{\"country\":\"Japan\",\"capital\":\"Tokyo\"}]}\n";

/// E18, E22: history grows turn by turn, finished turns are handed in while the item goes on.
#[tokio::test]
async fn turns_carry_the_history_and_are_handed_in_as_they_finish() {
    let endpoint = Endpoint::of_capitals().await;
    let yaml = job(&endpoint.base_url, "")
        .replace("Capital of {{ country }}?", "{{ topic }} {{ history | length }}: {{ country }}?")
        .replace("  prompt:", "  system: On {{ topic }}.\n  prompt:");
    let (_folder, program) = program(&yaml, TURNS).await;
    let journal = MemoryJournal::default();
    let done = run(&*program, &journal).await.unwrap();
    let verdicts: Vec<_> = done.scores.iter().map(|score| (score.turn, score.verdict)).collect();
    assert_eq!(verdicts, [(0, Verdict::Pass), (1, Verdict::Fail), (2, Verdict::Pass)]);
    assert_eq!(done.scores[1].reason, "expected \"Kyoto\", got \"Tokyo\"");
    assert_eq!(done.usage.tokens_in, 33);
    let turn = ["begin target", "done", "whole evaluator exact"];
    assert_eq!(journal.story(), [&turn[..], &["partial 1"], &turn, &["partial 2"], &turn].concat());
    let last = endpoint.calls().remove(2);
    assert_eq!(last.roles(), ["system", "user", "assistant", "user", "assistant", "user"]);
    assert_eq!(last.body["messages"][2]["content"], "Paris");
    assert_eq!(last.last_message(), "capitals 4: Japan?");
}

/// E14: the third turn fails; scores, tokens and latency of the first two are handed in with the failure.
#[tokio::test]
async fn a_conversation_that_fails_keeps_its_finished_turns() {
    let endpoint = Endpoint::start(|call| match call.roles().len() {
        5.. => (axum::http::StatusCode::BAD_REQUEST, "too long").into_response(),
        _ => completion("Paris"),
    })
    .await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), TURNS).await;
    let journal = MemoryJournal::default();
    let Err(Halt::Failed(failure)) = run(&*program, &journal).await else { panic!("the third turn fails") };
    assert_eq!(failure.class, ErrorClass::InvalidRequest);
    let kept = journal.kept.lock().unwrap().clone();
    let verdicts: Vec<_> = kept.scores.iter().map(|score| (score.turn, score.verdict)).collect();
    assert_eq!(verdicts, [(0, Verdict::Pass), (1, Verdict::Fail)]);
    assert_eq!((kept.usage.tokens_in, kept.usage.tokens_out), (22, 6));
}

/// A judge that cannot be reached fails the item, and the target's answer has been paid for.
#[tokio::test]
async fn an_item_whose_judge_fails_keeps_its_answer_and_the_other_scores() {
    let endpoint = Endpoint::start(|call| match call.last_message() {
        "Capital of France?" => completion("Paris"),
        _ => (axum::http::StatusCode::SERVICE_UNAVAILABLE, "busy").into_response(),
    })
    .await;
    let url = &endpoint.base_url;
    let judge =
        format!("  - judge: {{ model: {{ openai: {{ model: any, base_url: \"{url}\" }} }}, rubric: polite? }}\n");
    let (_folder, program) = program(&format!("{}{judge}", job(url, "")), FRANCE).await;
    let journal = MemoryJournal::default();
    let Err(Halt::Failed(failure)) = run(&*program, &journal).await else { panic!("the judge fails") };
    assert_eq!(failure.class, ErrorClass::Server);
    let kept = journal.kept.lock().unwrap().clone();
    assert_eq!((kept.scores.len(), kept.usage.tokens_in), (1, 11));
}

/// E9, E18: what is recorded is not paid again, and latency and tokens stay.
#[tokio::test]
async fn a_second_attempt_reuses_every_good_step_and_calls_nothing() {
    let endpoint = Endpoint::of_capitals().await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), TURNS).await;
    let first = MemoryJournal::default();
    let done = run(&*program, &first).await.unwrap();
    let second = first.next_attempt();
    assert_eq!(run(&*program, &second).await.unwrap(), done);
    assert_eq!(endpoint.calls().len(), 3);
    let turn = ["reuse target", "reuse evaluator exact"];
    assert_eq!(second.story(), [&turn[..], &["partial 1"], &turn, &["partial 2"], &turn].concat());
}

/// Design rule 9: a changed judge runs only the judge.
#[tokio::test]
async fn a_changed_evaluator_calls_no_target() {
    let endpoint = Endpoint::of_capitals().await;
    let yaml = job(&endpoint.base_url, "");
    let (folder, program) = program(&yaml, FRANCE).await;
    let first = MemoryJournal::default();
    run(&*program, &first).await.unwrap();
    folder.write("job.yaml", &yaml.replace("expect:", "ignore_case: true, expect:"));
    let second = first.next_attempt();
    run(&*prepare(&folder.load().unwrap()).await, &second).await.unwrap();
    assert_eq!(second.story(), ["reuse target", "whole evaluator exact"]);
    assert_eq!(endpoint.calls().len(), 1);
    // A key or a time limit does not change what the model says; another model does.
    folder.write("job.yaml", &yaml.replace("TEST_KEY", "OTHER_KEY").replace("model: any", "model: any, timeout: 5s"));
    let third = first.next_attempt();
    run(&*prepare(&folder.load().unwrap()).await, &third).await.unwrap();
    assert_eq!(third.story(), ["reuse target", "reuse evaluator exact"]);
    folder.write("job.yaml", &yaml.replace("model: any", "model: other"));
    let fourth = first.next_attempt();
    run(&*prepare(&folder.load().unwrap()).await, &fourth).await.unwrap();
    assert_eq!(fourth.story()[0], "begin target");
}

/// Design rule 4: a crash between intent and result leaves an unknown outcome; asking again is harmless.
#[tokio::test]
async fn an_unknown_outcome_is_asked_again_under_the_same_key() {
    let endpoint = Endpoint::of_capitals().await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), FRANCE).await;
    let first = MemoryJournal::default();
    run(&*program, &first).await.unwrap();
    let Told::Begin(intent) = first.told().remove(0) else { panic!("an intent") };
    let crashed = MemoryJournal::default();
    windrow_model::workload::Journal::begin(&crashed, intent).await.unwrap();
    let second = crashed.next_attempt();
    run(&*program, &second).await.unwrap();
    assert_eq!(second.story(), ["begin target", "done", "whole evaluator exact"]);
    let keys: Vec<_> = endpoint.calls().iter().map(|call| call.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys[0], keys[1]);
}

/// E23: a stopping run makes no further paid call.
#[tokio::test]
async fn a_stopping_run_stops_before_the_next_paid_call() {
    let endpoint = Endpoint::of_capitals().await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), FRANCE).await;
    let journal = MemoryJournal::default();
    journal.stopping.store(true, Ordering::Relaxed);
    assert!(matches!(run(&*program, &journal).await, Err(Halt::Stopped(_))));
    assert!(journal.story().is_empty() && endpoint.calls().is_empty());
}

#[tokio::test]
async fn recorded_outputs_are_judged_without_any_call() {
    let yaml = "kind: experiment\nname: n\ndataset: rows.csv\ntarget: { recorded: { field: answer } }\nevaluators:\n\
                - regex: { pattern: '^\\w+$' }\n- exact: { expect: '{{ capital }}', name: same }\n";
    let folder = Folder::new(&[("job.yaml", yaml), ("rows.csv", "answer,capital\nParis,Paris\n")]);
    let program = prepare(&folder.load().unwrap()).await;
    let journal = MemoryJournal::default();
    let done = run(&*program, &journal).await.unwrap();
    assert!(done.scores.iter().all(|score| score.verdict == Verdict::Pass), "{:?}", done.scores);
    assert_eq!(journal.story(), ["whole target", "whole evaluator regex", "whole evaluator same"]);
}

/// Design rule 10: an evaluator that cannot judge reads `error`, which is neither a fail nor a failed item.
#[tokio::test]
async fn an_expectation_that_cannot_be_rendered_is_an_error_verdict() {
    let endpoint = Endpoint::of_capitals().await;
    let rows = format!("{{\"country\":\"France\"}}\n{FRANCE}");
    let (_folder, program) = program(&job(&endpoint.base_url, ""), &rows).await;
    let done = run(&*program, &MemoryJournal::default()).await.unwrap();
    assert_eq!((done.scores[0].verdict, done.scores[0].value), (Verdict::Error, None));
    assert!(done.scores[0].reason.contains("cannot be said"), "{:?}", done.scores);
}

/// T4: `Retry-After` is passed on.
#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let body = json!({"error": {"message": format!("slow down, {KEY}"), "code": "rate_limit_exceeded"}});
    let endpoint = Endpoint::refusing(429, Some(("retry-after", "7")), body).await;
    let (failure, journal) = fail(&endpoint, "").await;
    assert_eq!((failure.class, failure.retry_after_ms), (ErrorClass::RateLimited, Some(7_000)));
    assert_eq!(failure.message, format!("HTTP 429 from {}/chat/completions: slow down, [redacted]", endpoint.base_url));
    assert!(!format!("{:?}", journal.told()).contains(KEY));
    assert!(failure.detail.unwrap().as_str().contains("rate_limit_exceeded"));
}

#[tokio::test]
async fn errors_of_the_endpoint_are_classified() {
    let error = |code: &str| json!({"error": {"message": "no", "code": code}});
    for (status, body, class) in [
        (500, json!("down"), ErrorClass::Server),
        (429, error("insufficient_quota"), ErrorClass::Quota),
        (401, error("invalid_api_key"), ErrorClass::Auth),
        (403, error("x"), ErrorClass::Auth),
        (404, error("model_not_found"), ErrorClass::InvalidRequest),
        (400, error("content_filter"), ErrorClass::ContentFilter),
        (200, json!({"choices": []}), ErrorClass::InvalidOutput),
        (200, json!({"error": {"message": "no", "code": 502}}), ErrorClass::Server),
        (
            200,
            json!({"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]}),
            ErrorClass::ContentFilter,
        ),
    ] {
        let endpoint = Endpoint::refusing(status, None, body.clone()).await;
        let (failure, _) = fail(&endpoint, "").await;
        assert_eq!(failure.class, class, "{status} {body}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_json_is_invalid_output_and_is_kept() {
    let endpoint = Endpoint::start(|_| "<html>hello</html>".into_response()).await;
    let (failure, _) = fail(&endpoint, "").await;
    assert_eq!(failure.class, ErrorClass::InvalidOutput);
    assert_eq!(failure.detail.unwrap().value()["body"], "<html>hello</html>");
}

#[tokio::test]
async fn a_key_that_is_echoed_is_redacted_in_the_answer_too() {
    let endpoint = Endpoint::start(|call| completion(call.headers["authorization"].to_str().unwrap())).await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), FRANCE).await;
    let journal = MemoryJournal::default();
    run(&*program, &journal).await.unwrap();
    let told = format!("{:?}", journal.told());
    assert!(!told.contains(KEY) && told.contains("Bearer [redacted]"), "{told}");
}

#[tokio::test]
async fn nobody_listening_is_network_and_no_answer_is_timeout() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let yaml = job(&base_url, "").replace("model: any", "model: any, timeout: 100ms");
    let (_folder, program) = program(&yaml, FRANCE).await;
    // The listener takes the connection and never answers.
    let Err(Halt::Failed(failure)) = run(&*program, &MemoryJournal::default()).await else { panic!("it fails") };
    assert_eq!(failure.class, ErrorClass::Timeout, "{failure}");
    drop(listener);
    let Err(Halt::Failed(failure)) = run(&*program, &MemoryJournal::default()).await else { panic!("it fails") };
    assert_eq!(failure.class, ErrorClass::Network, "{failure}");
    assert_eq!(failure.message, format!("cannot reach {base_url}: connection refused"));
    assert_eq!(failure.setting.as_deref(), Some("`target.openai.base_url`"));
}

#[tokio::test]
async fn retry_policy_and_timeout_come_from_the_file() {
    let (_folder, program) = program(&job("http://127.0.0.1:1/v1", "timeout: 2m\nretry: { max: 9 }\n"), FRANCE).await;
    assert_eq!((program.timeout_ms(), program.retry_policy().max_retries), (120_000, 9));
}
