//! Models of several providers: what is sent in which dialect, what is read from the answer, and
//! what becomes of secrets and errors.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use windrow_model::step::{StepResult, Usage};
use windrow_model::workload::{Done, Halt};
use windrow_model::{ErrorClass, Failure};

use crate::endpoint::{Call, Endpoint};
use crate::fixture::{Folder, KEY, items, program};
use crate::journal::{MemoryJournal, Told};

const ROW: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n";

fn job(target: &str) -> String {
    format!(
        "kind: experiment\nname: n\ndataset: capitals.jsonl\ntarget:\n  {target}\n  system: Be brief.\n  prompt: \
         \"Capital of {{{{ country }}}}?\"\nevaluators:\n  - exact: {{ expect: \"{{{{ capital }}}}\" }}\n"
    )
}

async fn run(target: &str) -> (Result<Done, Halt>, MemoryJournal) {
    let (_folder, program) = program(&job(target), ROW).await;
    let journal = MemoryJournal::default();
    let item = items(&*program).await.remove(0);
    (program.execute(&item, &journal).await, journal)
}

/// The recorded answer of the one call.
async fn answer(target: &str) -> (Value, Usage) {
    let (done, journal) = run(target).await;
    let usage = done.unwrap().usage;
    let told = journal.told();
    let Told::Finish(_, StepResult::Done { output, .. }) = &told[1] else { panic!("{told:?}") };
    (output.value(), usage)
}

async fn failure(target: &str) -> Failure {
    match run(target).await.0 {
        Err(Halt::Failed(failure)) => failure,
        other => panic!("the call fails: {other:?}"),
    }
}

#[tokio::test]
async fn anthropic_is_spoken() {
    let endpoint = Endpoint::start(|_| {
        Json(json!({
            "model": "claude-haiku-4-5-20251001",
            "content": [
                { "type": "text", "text": "Paris" },
                { "type": "tool_use", "id": "t1", "name": "look_up", "input": { "city": "Paris" } },
            ],
            "stop_reason": "tool_use",
            "usage": { "input_tokens": 1000, "cache_read_input_tokens": 500, "output_tokens": 100, "service_tier": "batch" },
        }))
        .into_response()
    })
    .await;
    let target = format!(
        "anthropic: {{ model: claude-haiku-4-5, base_url: \"{}\", api_key: \"${{env:TEST_KEY}}\", temperature: 0, \
         stop: [END], tools: [{{ name: look_up, parameters: {{ type: object }} }}] }}",
        endpoint.base_url
    );
    let (answer, usage) = answer(&target).await;
    assert_eq!((&answer["content"], &answer["finish_reason"]), (&json!("Paris"), &json!("tool_use")));
    let function = json!({ "name": "look_up", "arguments": "{\"city\":\"Paris\"}" });
    assert_eq!(answer["tool_calls"], json!([{ "id": "t1", "type": "function", "function": function }]));
    // 1000 · $0.50 + 500 · $0.10 + 100 · $2.50 per million, the prices of a batch.
    assert_eq!(usage, Usage { tokens_in: 1500, tokens_out: 100, cost_nanos: 500_000 + 50_000 + 250_000 });
    let call = endpoint.calls().remove(0);
    assert_eq!(call.path, "/v1/messages");
    assert_eq!(
        (&call.headers["x-api-key"], &call.headers["anthropic-version"]),
        (&KEY.parse().unwrap(), &"2023-06-01".parse().unwrap())
    );
    let tools = json!([{ "name": "look_up", "description": "", "input_schema": { "type": "object" } }]);
    assert_eq!(
        call.body,
        json!({ "model": "claude-haiku-4-5", "max_tokens": 4096, "system": "Be brief.", "temperature": 0.0,
                "stop_sequences": ["END"], "tools": tools,
                "messages": [{ "role": "user", "content": "Capital of France?" }] })
    );
}

#[tokio::test]
async fn gemini_is_spoken() {
    let endpoint = Endpoint::start(|_| {
        Json(json!({
            "modelVersion": "gemini-2.5-flash",
            "candidates": [{ "finishReason": "STOP", "content": { "parts": [
                { "text": "hm", "thought": true }, { "text": "Par" }, { "text": "is" },
                { "functionCall": { "name": "look_up", "args": { "n": 1 } } },
            ] } }],
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 3 },
        }))
        .into_response()
    })
    .await;
    let target = format!(
        "gemini: {{ model: gemini-2.5-flash, base_url: \"{}/v1beta\", api_key: \"${{env:TEST_KEY}}\", max_tokens: 5, \
         params: {{ generationConfig: {{ thinkingConfig: {{ thinkingBudget: 1 }} }} }} }}",
        endpoint.origin()
    );
    let (answer, usage) = answer(&target).await;
    assert_eq!((&answer["content"], &answer["finish_reason"]), (&json!("Paris"), &json!("STOP")));
    assert_eq!(answer["tool_calls"][0]["function"], json!({ "name": "look_up", "arguments": "{\"n\":1}" }));
    assert_eq!((usage.tokens_in, usage.tokens_out), (10, 5));
    let call = endpoint.calls().remove(0);
    assert_eq!(call.path, "/v1beta/models/gemini-2.5-flash:generateContent");
    assert_eq!(call.headers["x-goog-api-key"], KEY);
    assert_eq!(
        call.body,
        json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] },
                "contents": [{ "role": "user", "parts": [{ "text": "Capital of France?" }] }],
                "generationConfig": { "maxOutputTokens": 5, "thinkingConfig": { "thinkingBudget": 1 } } })
    );
}

#[tokio::test]
async fn ollama_is_spoken_without_a_key() {
    let endpoint = Endpoint::start(|_| {
        let message = json!({ "role": "assistant", "content": "Paris" });
        let counts = json!({ "model": "llama3", "message": message, "done": true, "done_reason": "stop",
                             "prompt_eval_count": 7, "eval_count": 1 });
        Json(counts).into_response()
    })
    .await;
    let target = format!("ollama: {{ model: llama3, base_url: \"{}\", seed: 3 }}", endpoint.origin());
    let (answer, usage) = answer(&target).await;
    assert_eq!((&answer["content"], &answer["usage"]["eval_count"]), (&json!("Paris"), &json!(1)));
    assert_eq!(usage, Usage { tokens_in: 7, tokens_out: 1, cost_nanos: 0 });
    let call = endpoint.calls().remove(0);
    assert_eq!((call.path.as_str(), call.headers.get("authorization")), ("/api/chat", None));
    assert_eq!((&call.body["stream"], &call.body["options"]), (&json!(false), &json!({ "seed": 3 })));
}

fn events(data: &[Value]) -> Response {
    let text: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    ([("content-type", "text/event-stream")], text + "data: [DONE]\n\n").into_response()
}

#[tokio::test]
async fn a_stream_is_put_together_and_its_first_token_timed() {
    let choice = |delta: Value, finish: Value| json!({ "model": "m-1", "choices": [{ "delta": delta, "finish_reason": finish }] });
    let call = |arguments: &str| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": arguments } }] });
    let mut first = call("{\"n\":");
    first["tool_calls"][0]["id"] = json!("c1");
    first["tool_calls"][0]["function"]["name"] = json!("look_up");
    let pieces = [
        choice(json!({ "role": "assistant", "content": "" }), Value::Null),
        choice(json!({ "content": "Par" }), Value::Null),
        choice(json!({ "content": "is" }), Value::Null),
        choice(first, Value::Null),
        choice(call("1}"), Value::Null),
        choice(json!({}), json!("tool_calls")),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 2 } }),
    ];
    let endpoint = Endpoint::start(move |_| events(&pieces)).await;
    let target = format!("groq: {{ model: any, base_url: \"{}\", stream: true }}", endpoint.base_url);
    let (answer, usage) = answer(&target).await;
    assert_eq!((&answer["content"], &answer["model"]), (&json!("Paris"), &json!("m-1")));
    assert_eq!(answer["tool_calls"][0]["function"], json!({ "name": "look_up", "arguments": "{\"n\":1}" }));
    assert_eq!((usage.tokens_in, usage.tokens_out), (9, 2));
    let (first, whole) = (answer["first_token_ms"].as_i64().unwrap(), answer["latency_ms"].as_i64().unwrap());
    assert!((0..=whole).contains(&first), "{answer}");
    let body = endpoint.calls().remove(0).body;
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({ "include_usage": true })));
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_reports_an_error_is_a_failure() {
    let target = |kind: &str, endpoint: &Endpoint| {
        format!("{kind}: {{ model: any, base_url: \"{}\", stream: true }}", endpoint.base_url)
    };
    let half = Endpoint::start(|_| events(&[json!({ "choices": [{ "delta": { "content": "Par" } }] })])).await;
    let cut = failure(&target("openai", &half)).await;
    assert_eq!((cut.class, cut.message.as_str()), (ErrorClass::Network, "the stream ended before the answer did"));
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let endpoint = Endpoint::start(move |_| events(std::slice::from_ref(&overloaded))).await;
    let failure = failure(&target("anthropic", &endpoint)).await;
    assert_eq!(failure.class, ErrorClass::Server, "{failure}");
    assert!(failure.message.contains("Overloaded"), "{failure}");
}

#[tokio::test]
async fn errors_of_each_dialect_are_understood() {
    let limited = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down",
        "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s" }] } });
    for (kind, status, body, class, retry_after_ms) in [
        ("gemini", 429, limited, ErrorClass::RateLimited, Some(7000)),
        ("gemini", 400, json!([{ "error": { "message": "API key not valid." } }]), ErrorClass::Auth, None),
        ("gemini", 200, json!({ "promptFeedback": { "blockReason": "SAFETY" } }), ErrorClass::ContentFilter, None),
        ("anthropic", 529, json!({ "error": { "type": "overloaded_error" } }), ErrorClass::Server, None),
        (
            "anthropic",
            400,
            json!({ "error": { "message": "Your credit balance is too low" } }),
            ErrorClass::Quota,
            None,
        ),
        ("ollama", 404, json!({ "error": "model 'x' not found" }), ErrorClass::InvalidRequest, None),
        ("ollama", 200, json!({ "done": true }), ErrorClass::InvalidOutput, None),
    ] {
        let endpoint = Endpoint::refusing(status, None, body.clone()).await;
        let failure = failure(&format!("{kind}: {{ model: any, base_url: \"{}\" }}", endpoint.base_url)).await;
        assert_eq!(
            (failure.class, failure.retry_after_ms),
            (class, retry_after_ms),
            "{kind} {status} {body}: {failure}"
        );
        assert!(failure.detail.is_some(), "{kind} {status}");
    }
}

/// T9: neither the key nor the value of a header is recorded, even where the endpoint echoes it.
#[tokio::test]
async fn headers_are_sent_and_their_secrets_stay_secret() {
    let echo = |call: &Call| {
        let said = format!("{:?} {:?}", call.headers["x-gate"], call.headers["authorization"]);
        crate::endpoint::completion(&said)
    };
    let endpoint = Endpoint::start(echo).await;
    let target = format!(
        "openai: {{ model: any, base_url: \"{}\", headers: {{ x-gate: \"pass ${{env:TEST_KEY}}\" }}, api_key: \
         \"${{env:TEST_KEY}}\" }}",
        endpoint.base_url
    );
    let (_, journal) = run(&target).await;
    assert_eq!(endpoint.calls()[0].headers["x-gate"], format!("pass {KEY}"));
    let told = format!("{:?}", journal.told());
    assert!(!told.contains(KEY) && told.contains("[redacted]"), "{told}");
}

#[test]
fn what_a_provider_does_not_have_is_said_before_anything_runs() {
    let report = |target: &str| Folder::new(&[("job.yaml", &job(target)), ("capitals.jsonl", ROW)]).report();
    assert!(report("azure: { model: gpt-4o }").contains("`azure` needs a base_url"));
    let seed = report("anthropic: { model: m, seed: 1, api_key: \"${env:TEST_KEY}\" }");
    assert!(seed.contains("`anthropic` has no such setting"), "{seed}");
    let key = report("mistral: { model: m }");
    assert!(key.contains("MISTRAL_API_KEY is not set"), "{key}");
    let header = report("openai: { model: m, api_key: \"${env:TEST_KEY}\", headers: { authorization: abc } }");
    assert!(header.contains("headers.authorization` is a secret in clear"), "{header}");
    let misspelt = report("anthropc: { model: m }");
    assert!(misspelt.contains("did you mean `anthropic`?"), "{misspelt}");
}

#[test]
fn prices_come_from_the_job_file_and_unknown_models_are_named_once() {
    let load = |more: &str| {
        let yaml = job("openai: { model: house-model, api_key: \"${env:TEST_KEY}\" }") + more;
        Folder::new(&[("job.yaml", &yaml), ("capitals.jsonl", ROW)]).load()
    };
    let warnings = load("").unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("the cost of `house-model` is unknown"), "{warnings:?}");
    assert_eq!(load("prices: { house-model: { input: 1, output: 2 } }\n").unwrap().warnings, Vec::<String>::new());
    // A budget in money protects from nothing where the price is unknown.
    let rejected = load("budget: { cost: 5 }\n").unwrap_err().render();
    for part in ["job.yaml:", "`budget.cost` cannot be kept: the price of `house-model` is unknown", "prices: {"] {
        assert!(rejected.contains(part), "no {part:?} in {rejected}");
    }
    assert_eq!(load("budget: { tokens: 5 }\n").unwrap().warnings.len(), 1);
    load("budget: { cost: 5 }\nprices: { house-model: { input: 1, output: 2 } }\n").unwrap();
    let wrong = load("prices: { house-model: { input: -1, output: 2 } }\n").unwrap_err().render();
    assert!(wrong.contains("dollars per million tokens"), "{wrong}");
}
