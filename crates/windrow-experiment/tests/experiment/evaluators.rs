//! Evaluators as a job file sees them: what is refused when it is loaded and where, and what those
//! that are made of others, or of files, do in a run.

use windrow_model::step::{Score, Verdict};

use crate::fixture::{Folder, items, prepare};
use crate::journal::{MemoryJournal, Told};

const ROWS: &str = "{\"country\":\"France\",\"capital\":\"Paris\",\"population\":2102650,\"said\":\"Paris\",\
                    \"sentiment\":\"positive\"}\n";

fn folder(evaluators: &str) -> Folder {
    let job = format!(
        "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget: {{ recorded: {{ field: said }} }}\nevaluators:\n{evaluators}"
    );
    Folder::new(&[("job.yaml", &job), ("rows.jsonl", ROWS)])
}

#[track_caller]
fn assert_refused(evaluator: &str, parts: &[&str]) {
    let report = folder(&format!("  - {evaluator}\n")).report();
    for part in parts {
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    }
}

async fn scores(folder: &Folder, journal: &MemoryJournal) -> Vec<Score> {
    let loaded = folder.load().unwrap_or_else(|report| panic!("{}", report.render()));
    let program = prepare(&loaded).await;
    program.execute(&items(&*program).await[0], journal).await.unwrap().scores
}

#[test]
fn a_configuration_that_cannot_work_is_refused_with_its_line() {
    let at = "job.yaml:6: `evaluators[0].";
    assert_refused("contains: { ignore_case: true }", &[at, "give exactly one of `expect`, `any` and `all`"]);
    assert_refused("contains: { any: [a], all: [b] }", &[at, "give exactly one"]);
    assert_refused("contains: { any: [] }", &[&format!("{at}contains.any`: the list is empty")]);
    assert_refused("numeric: { expect: 1, tolerance: -1 }", &["must be text", "put quotes around the number 1"]);
    assert_refused("numeric: { expect: '1', tolerance: -1 }", &[&format!("{at}numeric.tolerance`: must not be neg")]);
    assert_refused("json_path: { path: 'a b', expect: 1 }", &[&format!("{at}json_path.path`: this is not a JSONPath")]);
    assert_refused("levenshtein: { expect: x, threshold: 80 }", &[&format!("{at}levenshtein.threshold`: must be")]);
    assert_refused("rouge: { expect: x, variant: rouge3 }", &["rouge3", "rouge1"]);
    assert_refused("refusal: { phrases: [' '] }", &["a phrase is empty"]);
}

#[test]
fn what_is_wrong_with_labels_calls_and_limits_is_said() {
    assert_refused("label: { labels: [], expect: x }", &["label.labels`: there are none"]);
    assert_refused("label: { labels: [a], aliases: { b: [c] }, expect: a }", &["`b` is none of the labels"]);
    assert_refused("tool_calls: { expect: [{ nam: x }] }", &["tool_calls.expect`: must be a list of calls"]);
    let argument = "tool_calls: { expect: [{ name: x, arguments: { city: '{{ capitol }}' } }] }";
    assert_refused(argument, &["tool_calls.expect` uses unknown field `capitol`", "did you mean `capital`?"]);
    assert_refused("latency: { max: 2 }", &["latency.max`", "a length of time with its unit"]);
    assert_refused("cost: { max: 0 }", &["cost.max`: must be more than 0"]);
}

#[test]
fn a_schema_must_be_one_and_its_file_must_be_there() {
    assert_refused("json_schema: { schema: { type: txt } }", &["job.yaml:6: ", "this is not a JSON Schema", "txt"]);
    assert_refused("json_schema: { schema: no.json }", &["no.json cannot be read", "relative to the job file"]);
    assert_refused(
        "json_schema: { schema: { $ref: 'https://example.com/x' } }",
        &["example.com/x", "nothing is fetched"],
    );
    let broken = folder("  - json_schema: { schema: s.json }\n");
    broken.write("s.json", "{");
    assert!(broken.report().contains("s.json is not JSON"), "{}", broken.report());
}

#[test]
fn an_evaluator_inside_another_is_checked_like_one_of_its_own() {
    let inside = "job.yaml:6: `evaluators[0].not.exact.expect` uses unknown field `capitol`";
    assert_refused("not: { exact: { expect: '{{ capitol }}' } }", &[inside, "did you mean `capital`?"]);
    assert_refused("not: { exakt: { expect: x } }", &["unknown evaluator `exakt`", "did you mean `exact`?"]);
    assert_refused("not: { exact: { expect: x }, refusal: }", &["`evaluators[0].not` must name one evaluator"]);
    assert_refused("not", &["must name one evaluator"]);
    let of = "`evaluators[0].weighted.of[0].regex.pattern`: this is not a regular expression";
    assert_refused("weighted: { of: [{ regex: { pattern: '(' } }] }", &[of]);
    assert_refused("weighted: { of: [{ refusal: , weight: 0 }] }", &["of[0].weight`: must be more than 0"]);
    assert_refused("weighted: { of: refusal }", &["has 1 error", "weighted.of` must be a list, found text"]);
    assert_refused("weighted: { of: [] }", &["`weighted` has no evaluators"]);
    assert_refused("weighted: { treshold: 1, of: [refusal] }", &["did you mean `threshold`?"]);
    assert_refused("weighted: { threshold: 2, of: [refusal] }", &["weighted.threshold`: must be from 0 to 1"]);
    assert_refused("weighted: {}", &["the field `evaluators[0].weighted.of` is missing"]);
}

#[tokio::test]
async fn expectations_inside_other_evaluators_are_rendered() {
    let folder = folder(
        "  - not: { exact: { expect: \"{{ capital }}\" }, name: other }\n  - weighted:\n      of:\n        \
         - { exact: { expect: \"{{ capital }}\" }, weight: 3 }\n        - not: { contains: { any: [\"{{ capital }}\"] } }\n",
    );
    let scores = scores(&folder, &MemoryJournal::default()).await;
    let found: Vec<_> = scores.iter().map(|score| (score.name.as_str(), score.verdict, score.value)).collect();
    assert_eq!(found, [("other", Verdict::Fail, Some(0.0)), ("weighted", Verdict::Pass, Some(0.75))]);
}

#[tokio::test]
async fn a_schema_file_is_frozen_with_the_job() {
    let folder = folder("  - json_schema: { schema: s.json }\n");
    folder.write("s.json", r#"{ "type": "object" }"#);
    let loaded = folder.load().unwrap();
    assert_eq!(loaded.spec.value()["evaluators"][0]["config"]["schema"]["type"], "object");
    std::fs::remove_file(folder.path("s.json")).unwrap();
    prepare(&loaded).await;
}

#[tokio::test]
async fn a_finding_is_reused_until_what_is_expected_changes() {
    let judged =
        |journal: &MemoryJournal| journal.story().iter().filter(|told| *told == "whole evaluator weighted").count();
    let evaluators = |text: &str| format!("  - weighted: {{ of: [{{ exact: {{ expect: '{text}' }} }}] }}\n");
    let first = MemoryJournal::default();
    scores(&folder(&evaluators("{{ capital }}")), &first).await;
    assert_eq!(judged(&first), 1);
    let same = first.next_attempt();
    scores(&folder(&evaluators("{{ capital }}")), &same).await;
    assert!(same.told().iter().any(|told| matches!(told, Told::Reuse(intent, _) if intent.name == "weighted")));
    let other = first.next_attempt();
    scores(&folder(&evaluators("{{ country }}")), &other).await;
    assert_eq!(judged(&other), 1);
}

/// Every evaluator has its heading in the docs, and every example there can be used as it stands.
#[test]
fn the_docs_show_every_evaluator_with_examples_that_load() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluators.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let report = folder("  - no_such_evaluator\n").report();
    let (_, known) = report.split_once("known evaluators: ").unwrap();
    for name in known.lines().next().unwrap().split(", ") {
        assert!(docs.contains(&format!("\n## {name}\n")), "docs/evaluators.md has no section `{name}`");
        assert!(docs.contains(&format!("\n| [`{name}`](#{name}) |")), "docs/evaluators.md does not list `{name}`");
    }
    let examples: Vec<&str> = docs.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    for example in &examples {
        let indented: String = example.lines().map(|line| format!("  {line}\n")).collect();
        let folder = folder(&indented);
        for (name, text) in [("city.schema.json", "{}"), ("check.py", ""), ("check.sh", ""), ("words.txt", "")] {
            folder.write(name, text);
        }
        folder.load().unwrap_or_else(|report| panic!("{}", report.render()));
    }
    assert!(examples.len() >= 15);
}
