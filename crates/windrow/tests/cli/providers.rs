//! Every dialect end to end, against the mock model.

use serde_json::json;

use crate::mock_model::MockModel;
use crate::place::Place;

const ROWS: &str =
    "{\"q\": \"Capital of France?\", \"a\": \"Paris\"}\n{\"q\": \"Capital of Peru?\", \"a\": \"Lima\"}\n";

#[test]
fn every_dialect_gives_the_same_results_whole_and_streamed() {
    let mock = MockModel::start(&Place::empty(), &[]);
    let origin = &mock.origin;
    for (provider, base_url) in [
        ("openai", format!("{origin}/v1")),
        ("anthropic", format!("{origin}/v1")),
        ("gemini", format!("{origin}/v1beta")),
        ("ollama", origin.clone()),
        ("groq", format!("{origin}/v1")),
    ] {
        for stream in [false, true] {
            let place = Place::empty();
            place.write("rows.jsonl", ROWS);
            let name = format!("{provider}-{stream}");
            let job = format!(
                "kind: experiment\nname: {name}\ndataset: rows.jsonl\ntarget:\n  {provider}: {{ model: mock, base_url: \
                 \"{base_url}\", stream: {stream} }}\n  prompt: \"{{{{ q }}}}\"\nevaluators:\n  - exact: {{ expect: \"{{{{ a }}}}\" }}\n"
            );
            place.write("job.yaml", &job);
            let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
            let (passed, used) = (&result["evaluators"]["exact"]["pass"], &result["usage"]);
            assert_eq!(
                (passed, &used["tokens_in"], &used["tokens_out"]),
                (&json!(2), &json!(6), &json!(2)),
                "{name}: {result:#}"
            );
            // 6 tokens at $2.50 and 2 at $10 per million.
            assert_eq!(used["cost_nanos"], 15_000 + 20_000, "{name}");
            let item = place.windrow(&["jobs", "item", &name, "1", "--json"]).ended_with(0).json();
            assert_eq!(item.to_string().contains("first_token_ms"), stream, "{name}: {item:#}");
        }
    }
    assert_eq!(mock.stats()["answered"], 20);
}
