//! A dry run: the calls, tokens, cost and time of a run before it is made, with nothing called.

use windrow_experiment::forecast::{Experience, Forecast, forecast};

use crate::fixture::{Folder, environment};

/// Nobody listens there: whoever calls it fails.
const NOWHERE: &str = "http://127.0.0.1:9/v1";

async fn forecast_of(folder: &Folder) -> Forecast {
    let job = folder.load().unwrap_or_else(|report| panic!("{}", report.render()));
    forecast(&job, environment(), None, Experience::default()).await.unwrap()
}

fn rows(n: usize) -> String {
    (0..n).map(|no| format!("{{\"q\":\"{}\",\"a\":\"yes\"}}\n", "x".repeat(no % 7 * 40))).collect()
}

fn job(more: &str) -> String {
    format!(
        "kind: experiment\nname: planned\ndataset: rows.jsonl\ntarget:\n  openai: {{ model: gpt-4o, base_url: \"{NOWHERE}\", \
         max_tokens: 100 }}\n  prompt: \"{{{{ q }}}}\"\n{more}"
    )
}

fn calls(forecast: &Forecast) -> Vec<(&str, &str, i64)> {
    forecast.calls.iter().map(|line| (line.caller.as_str(), line.model.as_str(), line.calls)).collect()
}

#[tokio::test]
async fn every_call_is_foreseen_and_none_is_made() {
    let model = format!("model: {{ openai: {{ model: gpt-4o-mini, base_url: \"{NOWHERE}\" }} }}");
    let yaml = job(&format!(
        "trials: 2\nevaluators:\n  - judge: {{ {model}, rubric: good?, name: rubric }}\n  - judge: {{ {model}, rubric: good?, \
         choices: {{ yes: 1, no: 0 }}, name: choices, over: conversation }}\n  - pairwise: {{ {model}, against: \"{{{{ a }}}}\" }}\n  \
         - embedding: {{ {model}, expect: \"{{{{ a }}}}\" }}\n  - command: {{ run: [./never.sh] }}\n"
    ));
    let never = "#!/bin/sh\ntouch called\necho true\n";
    let folder = Folder::new(&[("job.yaml", &yaml), ("rows.jsonl", &rows(10)), ("never.sh", never)]);
    let forecast = forecast_of(&folder).await;
    assert_eq!((forecast.rows, forecast.trials, forecast.items, forecast.sample), (10, 2, 20, 20));
    assert_eq!(
        calls(&forecast),
        [
            ("target", "gpt-4o", 20),
            ("choices", "gpt-4o-mini", 20),
            ("embedding", "gpt-4o-mini", 20),
            ("pairwise", "gpt-4o-mini", 40),
            ("rubric", "gpt-4o-mini", 20)
        ]
    );
    assert_eq!(forecast.calls[0].tokens_out, 2_000);
    assert_eq!(forecast.tokens.expected, forecast.tokens_in.expected + forecast.tokens_out.expected);
    assert_eq!(forecast.cost_nanos.expected, forecast.calls.iter().map(|line| line.cost_nanos).sum::<i64>());
    assert!(forecast.calls.iter().all(|line| line.cost_nanos > 0 && line.tokens_in > 0), "{forecast:?}");
    assert_eq!(forecast.notes.len(), 2, "{:?}", forecast.notes);
    assert!(!folder.path("called").exists());
}

#[tokio::test]
async fn conversations_and_simulated_users_are_counted_turn_by_turn() {
    let yaml = job(&format!(
        "conversation:\n  simulated: {{ user: {{ openai: {{ model: gpt-4o-mini, base_url: \"{NOWHERE}\" }} }}, goal: \"{{{{ a }}}}\", \
         max_turns: 3 }}\n"
    ));
    let folder = Folder::new(&[("job.yaml", &yaml), ("rows.jsonl", &rows(5))]);
    let forecast = forecast_of(&folder).await;
    assert_eq!(calls(&forecast), [("target", "gpt-4o", 15), ("user", "gpt-4o-mini", 15)]);
    assert!(forecast.notes.iter().any(|note| note.contains("max_turns")), "{:?}", forecast.notes);
}

#[tokio::test]
async fn a_large_dataset_is_sampled_and_the_margin_holds_what_all_rows_need() {
    let folder = Folder::new(&[("job.yaml", &job("")), ("rows.jsonl", &rows(5_000))]);
    let sampled = forecast_of(&folder).await;
    assert_eq!((sampled.items, sampled.sample), (5_000, 200));
    let request = |no: usize| {
        let body = format!(
            "{{\"max_tokens\":100,\"messages\":[{{\"content\":\"{}\",\"role\":\"user\"}}],\"model\":\"gpt-4o\"}}",
            "x".repeat(no % 7 * 40)
        );
        (body.len() / 4) as i64
    };
    let exact: i64 = (0..5_000).map(request).sum();
    let tokens = sampled.tokens_in;
    assert!(tokens.margin > 0 && (tokens.expected - exact).abs() <= tokens.margin, "{tokens:?} against {exact}");
    assert_eq!((sampled.tokens_out.expected, sampled.tokens_out.margin), (500_000, 0));
}

#[tokio::test]
async fn limits_and_concurrency_decide_how_long_it_takes() {
    // An answer of 100 tokens is taken to need 2 s.
    let folder = Folder::new(&[("job.yaml", &job("concurrency: 10\n")), ("rows.jsonl", &rows(100))]);
    let free = forecast_of(&folder).await.duration;
    assert_eq!((free.ms, free.bound_by.as_str()), (20_000, "concurrency 10"));
    let limited =
        job("concurrency: 10\n").replace("max_tokens: 100", "max_tokens: 100, limits: { requests_per_minute: 61 }");
    folder.write("job.yaml", &limited);
    let limited = forecast_of(&folder).await.duration;
    assert_eq!((limited.ms, limited.bound_by.as_str()), (102_000, "61 requests/min of 127.0.0.1:9 · no key"));
}

#[tokio::test]
async fn outputs_that_are_there_are_not_called_and_unknown_prices_are_named() {
    let recorded = "kind: experiment\nname: r\ndataset: rows.jsonl\ntarget: { recorded: { field: a } }\nevaluators:\n  \
                    - judge: { model: { openai: { model: secret-1, base_url: \"https://models.example.com/v1\", api_key: \
                    \"${env:TEST_KEY}\" } }, rubric: good? }\n";
    let folder = Folder::new(&[("job.yaml", recorded), ("rows.jsonl", &rows(3))]);
    let forecast = forecast_of(&folder).await;
    assert_eq!(calls(&forecast), [("judge", "secret-1", 3)]);
    assert_eq!((forecast.unpriced.as_slice(), forecast.cost_nanos.expected), (&["secret-1".to_owned()][..], 0));
    let http = "kind: experiment\nname: h\ndataset: rows.jsonl\ntarget: { http: { url: \"http://127.0.0.1:9/\", body: { q: \"{{ q }}\" } \
                } }\n";
    folder.write("job.yaml", http);
    let forecast = forecast_of(&folder).await;
    assert_eq!(
        (calls(&forecast), forecast.unpriced.as_slice()),
        (vec![("target", "http", 3)], &["http".to_owned()][..])
    );
    assert_eq!(forecast.tokens.expected, 0);
}
