//! Filters and sort orders of items, over HTTP and on the command line.

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

fn rows(list: &Value) -> Vec<i64> {
    list["items"].as_array().unwrap().iter().map(|item| item["ordinal"].as_i64().unwrap() + 1).collect()
}

/// URL-encoded like in a browser.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[test]
fn items_are_filtered_sorted_and_paged() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let file = place.served_job("counted", &endpoint, 9, 3);
    endpoint.fail_on([3, 7]);
    let server = Served::start(&place, &[]);
    server.submit(&file).with_status(201);
    server.wait_for_state("counted", "completed");
    let ask = |filter: &str, sort: &str| {
        let query = format!("filter={}&sort={}", encoded(filter), encoded(sort));
        let answer = server.get(&format!("/api/v1/jobs/counted/items?{query}")).with_status(200).json();
        let said = place.windrow(&["jobs", "items", "counted", "--where", filter, &format!("--sort={sort}"), "--json"]);
        assert_eq!(answer, said.ended_with(0).json());
        rows(&answer)
    };
    assert_eq!(ask("state = failed or row in (1, 9)", "-row"), [9, 8, 4, 1]);
    assert_eq!(ask("not (state = failed) and row > 6", "row"), [7, 9]);
    assert_eq!(ask("score.exact is null", "row"), [4, 8], "what failed has no score, not zero");
    assert_eq!(ask("verdict.exact = pass and latency_ms >= 0", "row").len(), 7);
    let first = server.get("/api/v1/jobs/counted/items?sort=-score.exact&limit=5").with_status(200).json();
    assert_eq!(first["items"][0]["scores"][0]["value"], 1.0);

    let mut seen = rows(&first);
    let mut next = first["next"].as_str().map(str::to_owned);
    while let Some(after) = next {
        let query = format!("sort=-score.exact&limit=5&after={}", encoded(&after));
        let page = server.get(&format!("/api/v1/jobs/counted/items?{query}")).with_status(200).json();
        seen.extend(rows(&page));
        next = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(seen, [1, 2, 3, 5, 6, 7, 9, 4, 8], "nulls last, ties by row");
}

#[test]
fn an_invalid_filter_is_reported_with_its_position() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", &endpoint, 1, 1)).with_status(201);
    let bad = |query: &str| server.get(&format!("/api/v1/jobs/counted/items?{query}")).with_status(400).json();
    let problem = bad(&format!("filter={}", encoded("state = failing")));
    assert_eq!(problem["field"], "filter");
    assert!(problem["detail"].as_str().unwrap().contains("character 9 (`failing`)"), "{problem}");
    assert!(problem["remedy"].as_str().unwrap().contains("cancelled"), "{problem}");
    assert_eq!(bad("sort=colour")["field"], "sort");
    assert_eq!(bad("sort=row&after=17")["field"], "after");
    assert_eq!(bad("after=somewhere")["field"], "after");
    let said = place.windrow(&["jobs", "items", "counted", "--where", "state == "]).ended_with(2);
    assert!(said.stderr.contains("character 10: expected a value"), "{}", said.stderr);
}

/// E20, E22, E26: while an item is at work, its finished turns, the status of each turn and the trace are visible over
/// HTTP. After it failed they stay, and a retry calls only what is missing.
#[test]
fn finished_turns_are_visible_while_the_item_runs_and_a_retry_reuses_them() {
    let endpoint = Endpoint::gated(2);
    let place = Place::empty();
    let turns = serde_json::json!({"turns": [{"n": 0}, {"n": 1}, {"n": 2}]});
    let more = "  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"answer {{ n }}\" }\nretry: { max: 0 }\n";
    place.write_experiment(&endpoint, &[turns], more);
    std::fs::create_dir_all(place.path(".windrow/files")).unwrap();
    std::fs::rename(place.path("rows.jsonl"), place.data().join("files/rows.jsonl")).unwrap();
    let server = Served::start(&place, &["--trace-url", "https://traces.example.com/{trace_id}"]);
    endpoint.fail_on([2]);
    server.submit(&std::fs::read_to_string(place.path("job.yaml")).unwrap()).with_status(201);
    let list = || server.get("/api/v1/jobs/counted/items").with_status(200).json();
    crate::place::wait_until("the item", || !list()["items"].as_array().unwrap().is_empty());
    let id = list()["items"][0]["id"].as_str().unwrap().to_owned();
    let item = || server.get(&format!("/api/v1/items/{id}")).with_status(200).json();
    let statuses = |item: &Value| -> Vec<String> {
        item["turns"].as_array().unwrap().iter().map(|turn| turn["status"].as_str().unwrap().to_owned()).collect()
    };
    crate::place::wait_until("two turns", || item()["scores"].as_array().unwrap().len() == 2);
    let running = item();
    assert_eq!((&running["status"], &running["result_state"]), (&"processing".into(), &"logged".into()));
    assert_eq!(statuses(&running), ["success", "success", "processing"]);
    let trace = running["trace_id"].as_str().unwrap();
    assert_eq!(running["trace_url"], format!("https://traces.example.com/{trace}"));
    assert_eq!(running["turns"][0]["trace_id"], trace);
    assert_eq!(running["turns"][0]["log_id"].as_str().unwrap().len(), 16);

    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    let failed = item();
    assert_eq!(statuses(&failed), ["success", "success", "fail"]);
    assert_eq!((&failed["status"], &failed["result_state"]), (&"fail".into(), &"resulted".into()));
    assert_eq!(failed["scores"].as_array().unwrap().len(), 2);
    assert!(failed["usage"]["tokens_in"].as_i64().unwrap() > 0, "{failed}");
    let log = server.get("/api/v1/jobs/counted/logs").with_status(200).json();
    let lines = log["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["event"] == "item_failed" && line["trace_id"] == trace), "{log}");

    endpoint.fail_on([]);
    let before = endpoint.calls();
    server.post("/api/v1/jobs/counted/retry").with_status(201);
    crate::place::wait_until("the retry", || item()["status"] == "success");
    assert_eq!(endpoint.calls(), before + 1, "finished turns are reused");
    assert_eq!(statuses(&item()), ["success"; 3]);
}
