//! The mock model over HTTP: dialects, streams, faults, statistics.

use serde_json::{Value, json};

use crate::mock_model::MockModel;
use crate::place::Place;

fn question(text: &str) -> Value {
    json!({ "model": "mock", "messages": [{ "role": "user", "content": text }] })
}

#[test]
fn every_dialect_gets_the_same_answer() {
    let mock = MockModel::start(&Place::empty(), &[]);
    let ask = |path: &str, body: Value| {
        let reply = mock.post(path, &body);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.json()
    };
    let mut asked = question("Capital of France?");
    let openai = ask("/v1/chat/completions", asked.clone());
    assert_eq!(openai["choices"][0]["message"]["content"], "Paris");
    assert_eq!(openai["usage"]["prompt_tokens"], 3);
    asked["max_tokens"] = json!(100);
    let anthropic = ask("/v1/messages", asked.clone());
    assert_eq!(anthropic["content"], json!([{ "type": "text", "text": "Paris" }]));
    assert_eq!(anthropic["usage"]["output_tokens"], 1);
    let gemini = ask(
        "/v1beta/models/mock:generateContent",
        json!({ "contents": [{ "role": "user", "parts": [{ "text": "Capital of France?" }] }] }),
    );
    assert_eq!(gemini["candidates"][0]["content"]["parts"][0]["text"], "Paris");
    asked["stream"] = json!(false);
    assert_eq!(ask("/api/chat", asked)["message"]["content"], "Paris");
}

#[test]
fn a_stream_carries_the_answer_and_its_usage() {
    let mock = MockModel::start(&Place::empty(), &[]);
    let mut asked = question("Say: one two three");
    asked["stream"] = json!(true);
    asked["stream_options"] = json!({ "include_usage": true });
    let reply = mock.post("/v1/chat/completions", &asked);
    assert!(reply.headers.contains("text/event-stream"), "{}", reply.headers);
    let events: Vec<&str> = reply.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (done, chunks) = events.split_last().unwrap();
    assert_eq!(*done, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "one two three");
    assert_eq!(chunks.last().unwrap()["usage"]["completion_tokens"], 3);
}

#[test]
fn embeddings_tools_and_schemas_are_served() {
    let mock = MockModel::start(&Place::empty(), &[]);
    let reply =
        mock.post("/v1/embeddings", &json!({ "model": "mock-embedding", "input": ["a", "b"], "dimensions": 8 }));
    let vectors = reply.json();
    assert_eq!(vectors["data"][1]["embedding"].as_array().unwrap().len(), 8);
    let mut asked = question("What is the weather in Rome?");
    asked["tools"] = json!([{ "type": "function", "function": { "name": "weather",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } } }]);
    let called = mock.post("/v1/chat/completions", &asked).json();
    assert_eq!(called["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], r#"{"city":"Rome"}"#);
    assert_eq!(called["choices"][0]["finish_reason"], "tool_calls");
    let mut asked = question("Capital of Peru?");
    asked["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": {
        "type": "object", "properties": { "capital": { "type": "string" } } } } });
    let json = mock.post("/v1/chat/completions", &asked).json();
    assert_eq!(json["choices"][0]["message"]["content"], r#"{"capital":"Lima"}"#);
}

#[test]
fn faults_limits_and_statistics_match_the_options() {
    let mock = MockModel::start(&Place::empty(), &["--rpm", "2"]);
    let ask = |text: &str| mock.post("/v1/chat/completions", &question(text));
    assert_eq!([ask("a").status, ask("b").status], [200, 200]);
    let limited = ask("a");
    assert_eq!(limited.status, 429);
    assert!(limited.headers.contains("retry-after: "), "{}", limited.headers);
    assert_eq!(limited.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(ask("a").status, 429);
    let stats = mock.stats();
    assert_eq!((&stats["seen"], &stats["answered"], &stats["bodies"]["distinct"]), (&json!(4), &json!(2), &json!(2)));
    assert_eq!(stats["routes"]["/v1/chat/completions"], json!({ "200": 2, "429": 2 }));
    assert_eq!(stats["bodies"]["repeated"], json!({}));
    assert_eq!(stats["busiest_minute"], 2);

    let broken = MockModel::start(&Place::empty(), &["--faults", "reset:100%"]);
    let reply = broken.try_post("/v1/chat/completions", &question("a"));
    assert!(reply.as_ref().map_or(true, |reply| serde_json::from_str::<Value>(&reply.body).is_err()));
    assert_eq!(broken.stats()["routes"]["/v1/chat/completions"], json!({ "reset": 1 }));

    let phases = MockModel::start(&Place::empty(), &["--phases", "10m:503:retry_after=3s"]);
    let down = phases.post(
        "/v1/messages",
        &json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "a" }] }),
    );
    assert_eq!((down.status, &down.json()["error"]["type"]), (503, &json!("api_error")));
    assert!(down.headers.contains("retry-after: 3"), "{}", down.headers);
}

#[test]
fn a_script_overrides_the_rules_and_requests_are_logged() {
    let place = Place::empty();
    place.write("replies.yaml", "- { match: 'Capital of (\\w+)', reply: 'I like {{ groups[1] }}' }\n");
    let mock = MockModel::start(&place, &["--script", "replies.yaml", "--log", "calls.jsonl"]);
    let reply = mock.post("/v1/chat/completions", &question("Capital of France?")).json();
    assert_eq!(reply["choices"][0]["message"]["content"], "I like France");
    let line: Value = serde_json::from_str(&std::fs::read_to_string(place.path("calls.jsonl")).unwrap()).unwrap();
    assert_eq!((&line["outcome"], &line["answer"]), (&json!("200"), &json!("I like France")));
}

#[test]
fn a_wrong_command_line_suggests_the_right_one() {
    let place = Place::empty();
    let said = place.windrow(&["mock-model", "--faults", "429"]).ended_with(2);
    assert!(said.stderr.contains("e.g. 429:20%"), "{}", said.stderr);
    place.write("replies.yaml", "- { match: '(', reply: x }\n");
    let said = place.windrow(&["mock-model", "--script", "replies.yaml"]).ended_with(1);
    assert!(said.stderr.contains("replies.yaml: rule 1"), "{}", said.stderr);
}
