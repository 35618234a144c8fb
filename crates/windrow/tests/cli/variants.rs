//! One table of rows and variants (E19, T15): several targets and prompts in one job, and rows with an id of their own.

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::place::Place;

const MODEL: &str = "{ model: NAME, base_url: \"URL\", api_key: \"${env:OPENAI_API_KEY}\" }";

fn model(endpoint: &Endpoint, name: &str) -> String {
    format!("openai: {}", MODEL.replace("NAME", name).replace("URL", &endpoint.url))
}

/// Two prompts and these models over `rows` rows.
fn matrix(place: &Place, endpoint: &Endpoint, rows: usize, models: &[&str], more: &str) {
    let data: String = (0..rows).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    place.write("rows.jsonl", &data);
    let targets: String = models.iter().map(|name| format!("  {name}: {{ {} }}\n", model(endpoint, name))).collect();
    let head = "kind: experiment\nname: matrix\ndataset: rows.jsonl\n";
    let prompts = "prompts:\n  plain: \"{{ n }}\"\n  kind: { file: kind.md }\n";
    let evaluators = "evaluators:\n  - exact: { expect: \"answer {{ n }}\" }\n";
    place.write("kind.md", "please {{ n }}\n");
    place.write("job.yaml", &format!("{head}targets:\n{targets}{prompts}{evaluators}{more}"));
}

#[test]
fn two_prompts_and_two_models_are_one_job_and_a_third_model_runs_alone() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let gates = "gates:\n  - a.plain.exact.mean >= b.kind.exact.mean + 0.5\n  - a.plain.exact.mean == 1\n";
    matrix(&place, &endpoint, 60, &["a", "b"], gates);
    let first = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&first["items"]["total"], endpoint.calls()), (&240.into(), 240));
    let paired = &first["gates"][0];
    assert_eq!(
        (&paired["verdict"], &paired["n"], &paired["of_difference"]),
        (&"passed".into(), &60.into(), &true.into())
    );
    let means = |result: &Value| {
        let variants = result["variants"].as_object().unwrap().iter();
        variants
            .map(|(name, of)| (name.clone(), of["evaluators"]["exact"]["mean"].as_f64().unwrap()))
            .collect::<Vec<_>>()
    };
    let expected = [("a.kind", 0.0), ("a.plain", 1.0), ("b.kind", 0.0), ("b.plain", 1.0)];
    assert_eq!(means(&first), expected.map(|(name, mean)| (name.to_owned(), mean)));
    assert_eq!(first["evaluators"]["exact"]["rows"], 60, "variants of a row are one row");
    assert!(first["evaluators"]["exact"]["trials"].is_null(), "variants are not trials");

    let page = place.windrow(&["report", "matrix"]).ended_with(0).stdout;
    assert!(page.contains("| row 1 a.kind | exact | 0.000 |"), "{page}");
    let text = place.windrow(&["compare", "matrix@a.plain", "matrix@a.kind"]).ended_with(0).stdout;
    assert!(text.contains("\n  row 1 a.kind  1.000 → 0.000  ") && text.contains("  regressed"), "{text}");

    matrix(&place, &endpoint, 60, &["a", "b", "c"], gates);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 240 + 120, "only the third model is called");

    matrix(&place, &endpoint, 60, &["b", "c"], "");
    let page = place.windrow(&["run", "job.yaml"]).ended_with(0).stdout;
    assert_eq!(endpoint.calls(), 360);
    assert!(page.contains("exact, by variant") && page.contains("c.plain"), "{page}");
    let items = place.windrow(&["jobs", "items", "matrix", "--json", "--limit", "500"]).json();
    let removed = items["items"].as_array().unwrap().iter().filter(|item| item["removed"] == true);
    let removed: Vec<&str> = removed.map(|item| item["variant"].as_str().unwrap()).collect();
    assert_eq!((removed.len(), removed.iter().all(|name| name.starts_with("a."))), (120, true));
    let rows: std::collections::BTreeSet<i64> =
        items["items"].as_array().unwrap().iter().map(|item| item["ordinal"].as_i64().unwrap()).collect();
    assert_eq!(rows.len(), 60, "all items of a row have its number");
    let left = place.windrow(&["results", "matrix", "--where", "removed = true", "--json"]).ended_with(0).json();
    assert_eq!((&left["total"], &left["rows_of_job"]), (&120.into(), &360.into()));
}

#[test]
fn what_is_wrong_with_a_matrix_is_shown_at_its_place() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    for (more, parts) in [
        ("matrix: [[a, plane]]\n", &["unknown prompt `plane`", "did you mean `plain`?"][..]),
        ("matrix: [[a, plain], [a, plain]]\n", &["this pair twice"]),
        ("matrix: some\n", &["must be `all` or a list of pairs"]),
        ("gates:\n  - a.plane.exact.mean > 0.5\n", &["unknown evaluator `a.plane.exact`", "did you mean"]),
        ("target: { recorded: { field: n } }\n", &["both `target` and `targets`"]),
    ] {
        matrix(&place, &endpoint, 2, &["a", "b"], more);
        let said = place.windrow(&["check", "job.yaml"]).ended_with(2).stderr;
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said}");
        }
    }
    matrix(&place, &endpoint, 2, &["a", "b"], "matrix: [[a, plain], [b, kind]]\n");
    let fine = place.windrow(&["check", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&fine["items"], endpoint.calls()), (&4.into(), 0));
}

fn with_ids(place: &Place, endpoint: &Endpoint, expected: &[&str]) {
    let row = |(n, expected): (usize, &&str)| json!({ "ticket": n, "question": format!("q{n}"), "expected": expected });
    let rows: Vec<Value> = expected.iter().enumerate().map(row).collect();
    let more = "  prompt: \"{{ question }}\"\nid: ticket\nevaluators:\n  - exact: { expect: \"{{ expected }}\" }\n";
    place.write_experiment(endpoint, &rows, more);
}

#[test]
fn a_corrected_expected_value_keeps_the_row_and_calls_no_target() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    with_ids(&place, &endpoint, &["answer q0", "wrong"]);
    let first = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&first["evaluators"]["exact"]["pass"], endpoint.calls()), (&1.into(), 2));
    let items = |place: &Place| place.windrow(&["jobs", "items", "counted", "--json"]).json()["items"].clone();
    let before = items(&place);
    with_ids(&place, &endpoint, &["answer q0", "answer q1"]);
    let second = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&second["evaluators"]["exact"]["pass"], endpoint.calls()), (&2.into(), 2), "no target is called");
    let after = items(&place);
    let ids = |items: &Value| items.as_array().unwrap().iter().map(|item| item["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&before), ids(&after), "the rows are the same items");
    assert!(after.as_array().unwrap().iter().all(|item| item["removed"] != true));
    let id = after[1]["id"].as_str().unwrap();
    let item = place.windrow(&["jobs", "item", "counted", id, "--json"]).ended_with(0).json();
    assert_eq!(item["input"]["expected"], "answer q1", "{item}");
}

#[test]
fn rows_with_the_same_id_are_named_before_anything_is_called() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    with_ids(&place, &endpoint, &["a", "b", "c"]);
    place.edit("rows.jsonl", "\"ticket\":2", "\"ticket\":0");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2).stderr;
    assert!(said.contains("the same id as the one on line 1") && said.contains("rows.jsonl:3"), "{said}");
    place.edit("rows.jsonl", "\"ticket\":1", "\"other\":1");
    let said = place.windrow(&["check", "job.yaml"]).ended_with(2).stderr;
    assert!(said.contains("no field `ticket`, which `id` names"), "{said}");
    assert_eq!(endpoint.calls(), 0);
}

/// E16: two to ten variants against the first, paired by row.
#[test]
fn variants_are_compared_row_by_row() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    matrix(&place, &endpoint, 10, &["a", "b"], "");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let sides = ["matrix@a.plain", "matrix#1@a.kind", "matrix@b.plain"];
    let found = place.windrow(&[&["compare"], &sides[..], &["--json"]].concat()).ended_with(0).json();
    assert_eq!(found["sides"][1]["name"], "matrix#1@a.kind");
    assert_eq!(found["sides"][1]["metrics"]["exact"]["mean"], json!(0.0));
    let exact = |at: usize| found["changes"][at]["evaluators"]["exact"].clone();
    assert_eq!((&exact(0)["rows"], &exact(0)["regressed"], &exact(0)["broken"]), (&10.into(), &10.into(), &10.into()));
    // 10 of 10 against none: 2 / 1024, corrected for two comparisons.
    let p = |name: &str| exact(0)[name].as_f64().unwrap() * 1024.0;
    assert!((p("p") - 2.0).abs() < 1e-9 && (p("p_adjusted") - 4.0).abs() < 1e-9, "{}", exact(0));
    assert_eq!((&exact(1)["same"], &exact(1)["p"]), (&10.into(), &json!(1.0)));
    let wrong = place.windrow(&["compare", "matrix@a.plain", "matrix@a.knid"]).ended_with(1).stderr;
    assert!(wrong.contains("did you mean `matrix@a.kind`?"), "{wrong}");
    let text = place.windrow(&[&["compare"], &sides[..]].concat()).ended_with(0).stdout;
    assert!(text.contains("matrix#1@b.plain") && text.contains("PASS RATE"), "{text}");
}
