//! Rows of other tools, put to a target as they are.

use windrow_model::step::Verdict;

use crate::fixture::{Folder, items, prepare};
use crate::journal::MemoryJournal;

/// A job that judges what the dataset itself holds as the output.
fn job(dataset: &str, field: &str) -> String {
    format!(
        "kind: experiment\nname: shapes\ndataset: {dataset}\ntarget: {{ recorded: {{ field: {field} }} }}\n\
         evaluators:\n  - exact: {{ expect: \"{{{{ expected }}}}\" }}\n"
    )
}

async fn verdicts(folder: &Folder) -> Vec<Vec<Verdict>> {
    let loaded = folder.load().unwrap_or_else(|report| panic!("{}", report.render()));
    let program = prepare(&loaded).await;
    let mut found = Vec::new();
    for item in items(&*program).await {
        let done = program.execute(&item, &MemoryJournal::default()).await.unwrap();
        found.push(done.scores.iter().map(|score| score.verdict).collect());
    }
    found
}

#[tokio::test]
async fn fields_are_mapped_and_recognised_in_every_format() {
    use Verdict::{Fail, Pass};
    let rows = r#"[{"input": {"text": "q"}, "target": "a", "said": {"by": ["a"]}}, {"input": "q", "target": "a", "said": {"by": ["b"]}}]"#;
    let dataset = "{ path: rows.json, fields: { output: said.by.0 } }";
    let folder = Folder::new(&[("job.yaml", &job(dataset, "output")), ("rows.json", rows)]);
    assert_eq!(verdicts(&folder).await, [[Pass], [Fail]]);
    folder.write("rows.yaml", rows);
    folder.write("job.yaml", &job("{ path: rows.yaml, fields: { output: said.by.0 } }", "output"));
    assert_eq!(verdicts(&folder).await, [[Pass], [Fail]]);
}

#[tokio::test]
async fn messages_are_turns_and_each_is_judged() {
    let rows = r#"{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]}"#;
    let folder = Folder::new(&[("job.yaml", &job("chats.jsonl", "input")), ("chats.jsonl", rows)]);
    assert_eq!(verdicts(&folder).await, [[Verdict::Fail, Verdict::Fail]]);
    folder.write("job.yaml", &job("chats.jsonl", "expected"));
    assert_eq!(verdicts(&folder).await, [[Verdict::Pass, Verdict::Pass]]);
}

#[test]
fn a_row_that_is_not_of_the_shape_is_named() {
    let rows = "{\"input\": \"a\", \"target\": \"b\"}\n{\"question\": \"a\"}\n";
    let folder =
        Folder::new(&[("job.yaml", &job("{ path: rows.jsonl, shape: input }", "input")), ("rows.jsonl", rows)]);
    let report = folder.report();
    assert!(report.contains("rows.jsonl:2: this row is not of the shape `input`: it has no field `input`"), "{report}");
    folder.write("job.yaml", &job("{ path: rows.jsonl, shape: plain }", "input"));
    let report = folder.report();
    assert!(report.contains("uses unknown field `expected`"), "{report}");
    folder.write("job.yaml", &job("{ path: rows.jsonl, shape: chat }", "input"));
    assert!(folder.report().contains("expected one of auto, plain, messages, input, inputs, vars"));
    folder.write("job.yaml", &job("{ path: rows.jsonl, fields: { q: a..b } }", "input"));
    assert!(folder.report().contains("`dataset.fields` maps \"q\" to \"a..b\""));
}

/// The rows are the items; how they are read is the definition's business.
#[tokio::test]
async fn another_mapping_keeps_the_identity_of_the_items() {
    let rows = "{\"input\": \"a\", \"target\": \"b\", \"o\": \"b\", \"p\": \"b\"}\n";
    let folder = Folder::new(&[("job.yaml", &job("rows.jsonl", "o")), ("rows.jsonl", rows)]);
    let before = prepare(&folder.load().unwrap()).await.page(None, 9).await.unwrap();
    folder.write("job.yaml", &job("{ path: rows.jsonl, fields: { o: p } }", "o"));
    let after = prepare(&folder.load().unwrap()).await.page(None, 9).await.unwrap();
    assert_eq!(before.items, after.items);
}
