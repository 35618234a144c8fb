//! Our metrics against the implementations that everyone compares with: sacreBLEU, rouge-score,
//! rapidfuzz and jsonschema from PyPI, on the same pairs, through the whole experiment.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use windrow_model::Json;
use windrow_model::step::Score;

use crate::fixture::{Folder, prepare, work_item};
use crate::journal::MemoryJournal;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference");
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

/// The required cases of draft 2020-12. Those that live in other documents, which the suite serves
/// from a host of its own, must be refused: an evaluator fetches nothing.
#[tokio::test]
async fn json_schema_passes_the_official_suite() {
    const ELSEWHERE: &str = "http://localhost:1234/";
    let (mut judged, mut refused, mut differences) = (0, 0, Vec::new());
    for (file, group) in suite() {
        let schema = group["schema"].to_string();
        let tests = group["tests"].as_array().unwrap();
        let rows: Vec<Value> = tests.iter().map(|test| json!({ "document": test["data"].to_string() })).collect();
        let rows = rows.iter().map(|row| format!("{row}\n")).collect::<String>();
        let folder = Folder::new(&[("job.yaml", SUITE_JOB), ("rows.jsonl", &rows), ("schema.json", &schema)]);
        if schema.contains(ELSEWHERE) && folder.load().is_err() {
            refused += 1;
            continue;
        }
        for ((_, scores), test) in judge_all(&folder).await.iter().zip(tests) {
            judged += 1;
            if scores[0].value != Some(f64::from(test["valid"] == true)) {
                differences
                    .push(format!("{file}: {}: {}: {}", group["description"], test["description"], scores[0].reason));
            }
        }
    }
    assert_none(&differences);
    // Of the pinned suite.
    assert_eq!((judged, refused), (1208, 22));
}

const SUITE_JOB: &str = "
kind: experiment
name: suite
dataset: rows.jsonl
target: { recorded: { field: document } }
evaluators:
  - json_schema: { schema: schema.json }
";

/// Each group of cases with the name of its file.
fn suite() -> Vec<(String, Value)> {
    let folder = environment().join("json-schema-suite/tests/draft2020-12");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut groups = Vec::new();
    for file in files.filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let all: Vec<Value> = serde_json::from_str(&text).unwrap();
        groups.extend(all.into_iter().map(|group| (name.clone(), group)));
    }
    groups
}

fn assert_none(differences: &[String]) {
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences:\n{shown}", differences.len());
}

/// Every row with the scores its output was given.
async fn judge_all(folder: &Folder) -> Vec<(Value, Vec<Score>)> {
    let loaded = folder.load().unwrap_or_else(|report| panic!("{}", report.render()));
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

/// What a script in tests/reference prints.
fn reference(script: &str) -> String {
    let script = Path::new(SCRIPTS).join(script);
    let run = Command::new(environment().join("bin/python")).arg(&script).output().unwrap();
    assert!(run.status.success(), "{} failed:\n{}", script.display(), String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// What scripts/python-env made. Without it the test fails: a comparison that was not made must not
/// look like one that was.
fn environment() -> PathBuf {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-env");
    let pinned = std::fs::read_to_string(Path::new(SCRIPTS).join("requirements.txt")).unwrap();
    assert!(
        std::fs::read_to_string(environment.join("installed.txt"))
            .is_ok_and(|installed| installed.starts_with(&pinned)),
        "the reference implementations are not installed as pinned; run scripts/python-env (`make test` does)"
    );
    environment
}
