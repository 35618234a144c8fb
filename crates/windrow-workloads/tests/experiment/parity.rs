//! Our metrics against the implementations that everyone compares with: sacreBLEU, rouge-score,
//! rapidfuzz and jsonschema from PyPI, on the same pairs, through the whole experiment.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use windrow_model::Json;
use windrow_model::step::Score;

use crate::fixture::{Folder, prepare, work_item};
use crate::journal::MemoryJournal;

const NEAR: f64 = 1e-9;

const PAIRS_JOB: &str = r#"
kind: experiment
name: parity
dataset: pairs.jsonl
target: { recorded: { field: output } }
evaluators:
  - levenshtein: { expect: "{{ reference }}" }
  - jaro_winkler: { expect: "{{ reference }}" }
  - bleu: { expect: "{{ reference }}" }
  - chrf: { expect: "{{ reference }}" }
  - rouge: { expect: "{{ reference }}", variant: rouge1, name: rouge1 }
  - rouge: { expect: "{{ reference }}", variant: rouge2, name: rouge2 }
  - rouge: { expect: "{{ reference }}", variant: rougeL, name: rougeL }
"#;

#[tokio::test]
async fn text_metrics_agree_with_their_references() {
    let folder = Folder::new(&[("job.yaml", PAIRS_JOB), ("pairs.jsonl", &reference("pairs.py"))]);
    let judged = judge_all(&folder).await;
    assert!(judged.len() > 4000, "only {} pairs", judged.len());
    let mut differences = Vec::new();
    for (row, scores) in &judged {
        for score in scores {
            // sacreBLEU counts to 100.
            let scale = if matches!(score.name.as_str(), "bleu" | "chrf") { 100.0 } else { 1.0 };
            let ours = scale * score.value.expect("a metric has a value");
            let theirs = row["scores"][&score.name].as_f64().expect("a reference value for each evaluator");
            if (ours - theirs).abs() > NEAR {
                let pair = format!("{} / {}", row["output"], row["reference"]);
                differences.push(format!("{}: {ours} is not {theirs} for {pair}", score.name));
            }
        }
    }
    assert_none(&differences);
}

#[tokio::test]
async fn json_schema_agrees_with_its_reference() {
    let reference = reference("schemas.py");
    let (schemas, documents) = reference.split_once('\n').expect("schemas, then documents");
    let schemas: Value = serde_json::from_str(schemas).unwrap();
    let schemas = schemas["schemas"].as_array().unwrap();
    let evaluators: Vec<Value> = schemas.iter().map(|schema| json!({ "json_schema": { "schema": schema } })).collect();
    let target = json!({ "recorded": { "field": "document" } });
    let job = json!({
        "kind": "experiment", "name": "parity", "dataset": "documents.jsonl", "target": target, "evaluators": evaluators,
    });
    let folder = Folder::new(&[("job.yaml", &job.to_string()), ("documents.jsonl", documents)]);
    let judged = judge_all(&folder).await;
    assert!(judged.len() > 400 && schemas.len() > 40, "{} documents, {} schemas", judged.len(), schemas.len());
    let mut differences = Vec::new();
    for (row, scores) in &judged {
        for ((score, schema), valid) in scores.iter().zip(schemas).zip(row["valid"].as_array().unwrap()) {
            if score.value != Some(f64::from(valid == true)) {
                differences.push(format!("{schema} and {}: {} is not {valid}", row["document"], score.reason));
            }
        }
    }
    assert_none(&differences);
}

fn assert_none(differences: &[String]) {
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences:\n{shown}", differences.len());
}

/// Every row with the scores its output was given.
async fn judge_all(folder: &Folder) -> Vec<(Value, Vec<Score>)> {
    let loaded = folder.load().unwrap_or_else(|report| panic!("{}", report.plain()));
    let program = prepare(&loaded).await;
    let mut judged = Vec::new();
    let mut cursor: Option<Json> = None;
    loop {
        let page = program.page(cursor.as_ref(), 1000).await.unwrap();
        for new in page.items {
            let item = work_item(judged.len(), new);
            let done = program.execute(&item, &MemoryJournal::default()).await.unwrap();
            judged.push((item.input.value(), done.scores));
        }
        if page.done {
            return judged;
        }
        cursor = page.cursor;
    }
}

/// What a script in tests/reference prints. Without its Python the test fails: a comparison that
/// was not made must not look like one that was.
fn reference(script: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = package.join("tests/reference");
    let environment = package.join("../../target/python-env");
    let pinned = std::fs::read_to_string(scripts.join("requirements.txt")).unwrap();
    assert!(
        std::fs::read_to_string(environment.join("installed.txt")).is_ok_and(|installed| installed == pinned),
        "the reference implementations are not installed as pinned; run scripts/python-env (`make test` does)"
    );
    let run = Command::new(environment.join("bin/python")).arg(scripts.join(script)).output().unwrap();
    assert!(run.status.success(), "{script} failed:\n{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}
