//! A pipeline is a table (T15, T16): columns are computed step by step, each cell is durable, and a changed column
//! computes only itself and what reads it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use windrow_model::state::StepState;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::mock_model::MockModel;
use crate::place::{Place, wait_until};
use crate::torture::code;

const COLUMNS: &str = r#"columns:
  short: { template: "{{ draft | truncate(200) }}" }
  context: { MODEL, prompt: "about {{ n }}" }
  draft: { MODEL, prompt: "PREFIX {{ n }} with {{ context }}" }
  final: { MODEL, prompt: "polish {{ short }}" }
  note: { MODEL, prompt: "note {{ n }}" }
evaluators:
  - contains: { of: draft, expect: "{{ n }}", name: has }
  - exact: { of: final, expect: "answer polish {{ short }}", when: "context != ''" }
  - weighted: { of: [{ contains: { expect: "note" } }], name: whole }
"#;

/// Three columns that call a model one after the other, one that calls it alone, and a text.
fn pipeline(place: &Place, endpoint: &Endpoint, rows: usize, columns: &str) {
    let data: String = (0..rows).map(|n| json!({ "n": n, "expected": "e" }).to_string() + "\n").collect();
    place.write("rows.jsonl", &data);
    let url = &endpoint.url;
    let model = format!("openai: {{ model: any, base_url: \"{url}\", api_key: \"${{env:OPENAI_API_KEY}}\" }}");
    let head = "kind: experiment\nname: counted\ndataset: rows.jsonl\n";
    place.write("job.yaml", &format!("{head}{columns}").replace("MODEL", &model).replace("PREFIX", "write"));
}

/// Calls by the word that their question begins with.
fn calls(endpoint: &Endpoint) -> BTreeMap<String, usize> {
    let mut calls = BTreeMap::new();
    for (question, times) in endpoint.calls_by_question() {
        *calls.entry(question.split(' ').next().unwrap().to_owned()).or_default() += times;
    }
    calls
}

fn counted(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected.iter().map(|(word, times)| ((*word).to_owned(), *times)).collect()
}

#[test]
fn columns_are_computed_in_the_order_in_which_they_read_each_other() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    pipeline(&place, &endpoint, 3, COLUMNS);
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(calls(&endpoint), counted(&[("about", 3), ("write", 3), ("polish", 3), ("note", 3)]));
    for evaluator in ["has", "exact", "whole"] {
        assert_eq!(result["evaluators"][evaluator]["pass"], 3, "{evaluator}: {result}");
    }
    let table = place.windrow(&["results", "counted", "--json"]).ended_with(0).json();
    let row = &table["rows"][0];
    assert_eq!(row["outputs"]["context"], "answer about 0", "{row}");
    assert_eq!(row["outputs"]["short"], "answer write 0 with answer about 0");
    assert_eq!(row["outputs"]["final"], "answer polish answer write 0 with answer about 0");
    assert_eq!(endpoint.calls(), 12);
    // The same again takes everything from the records.
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 12);
}

#[test]
fn a_changed_column_computes_itself_and_its_readers_and_a_corrected_answer_calls_nothing() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    pipeline(
        &place,
        &endpoint,
        2,
        &format!("id: n\n{COLUMNS}  - exact: {{ of: note, expect: \"{{{{ expected }}}}\", name: right }}\n"),
    );
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 8);
    place.edit("job.yaml", "write {{ n }}", "rewrite {{ n }}");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let after = counted(&[("about", 2), ("write", 2), ("rewrite", 2), ("polish", 4), ("note", 2)]);
    assert_eq!(calls(&endpoint), after, "the middle column and its readers");
    place.edit("rows.jsonl", "\"expected\":\"e\",\"n\":1", "\"expected\":\"answer note 1\",\"n\":1");
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&result["evaluators"]["right"]["pass"], endpoint.calls()), (&1.into(), 12), "no target is called");
    // Renaming a column, or writing it elsewhere, computes nothing.
    place.edit("job.yaml", "  note: {", "  remark: {");
    place.edit("job.yaml", "of: note", "of: remark");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 12);
}

#[test]
fn one_column_is_filled_with_what_it_reads_and_the_rest_stays() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    pipeline(&place, &endpoint, 2, COLUMNS);
    place.windrow(&["run", "job.yaml", "--column", "draft"]).ended_with(0);
    assert_eq!(calls(&endpoint), counted(&[("about", 2), ("write", 2)]));
    let outputs = || {
        let row = place.windrow(&["results", "counted", "--json"]).ended_with(0).json()["rows"][0].clone();
        row["outputs"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(outputs(), ["context", "draft", "short"], "a text costs nothing");
    place.windrow(&["run", "job.yaml", "--column", "note"]).ended_with(0);
    assert_eq!(calls(&endpoint), counted(&[("about", 2), ("write", 2), ("note", 2)]));
    assert_eq!(outputs(), ["context", "draft", "note", "short"], "what is on record stays");
    let scored = place.windrow(&["run", "job.yaml", "--column", "exact", "--json"]).ended_with(0).json();
    assert_eq!((&scored["evaluators"]["exact"]["pass"], endpoint.calls()), (&2.into(), 8), "{scored}");
    assert!(scored["evaluators"].get("has").is_none(), "{scored}");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 8, "a whole run takes it all over");
    let said = place.windrow(&["run", "job.yaml", "--column", "draught"]).ended_with(2).stderr;
    assert!(said.contains("no column `draught`") && said.contains("did you mean `draft`?"), "{said}");
}

#[test]
fn every_boundary_of_three_columns_survives_a_kill() {
    const CALLS: usize = 4;
    for n in 1..=CALLS {
        for recorded in [false, true] {
            let before = if recorded { n } else { n - 1 };
            let (endpoint, place) = (Endpoint::gated(before), Place::empty());
            pipeline(&place, &endpoint, 1, COLUMNS);
            let run = place.start(&["run", "job.yaml", "--quiet"]);
            match recorded {
                false => wait_until("the call to be in flight", || endpoint.calls() == n),
                true => wait_until("the cell to be on record", || called(&place, StepState::Done).len() >= n),
            }
            run.kill();
            cells_are_right(&place, n, recorded);
            let finished = called(&place, StepState::Done);
            let begun = called(&place, StepState::Intent);
            assert_eq!(finished.len(), before, "{n}");
            endpoint.open_gate();
            place.windrow(&["run", "job.yaml"]).ended_with(0);
            let calls = endpoint.calls_by_question();
            assert_eq!(calls.len(), CALLS, "{calls:?}");
            for (question, times) in &calls {
                let is = |inputs: &[String]| inputs.iter().any(|input| input.contains(question.as_str()));
                let most = if is(&begun) { 2 } else { 1 };
                assert!(*times <= most, "{question:?} was called {times} times, {n} {recorded}");
                assert!(!is(&finished) || *times == 1, "{question:?} was finished and called again");
            }
            assert!(states(&place).values().all(|state| state == "completed"), "{:?}", states(&place));
        }
    }
}

/// State by column, of the only row.
fn states(place: &Place) -> BTreeMap<String, String> {
    let cells = place.windrow(&["jobs", "cells", "counted", "--json"]).ended_with(0).json();
    let text = |cell: &Value, field: &str| cell[field].as_str().unwrap().to_owned();
    cells["cells"].as_array().unwrap().iter().map(|cell| (text(cell, "column"), text(cell, "state"))).collect()
}

/// Killed with the `n`th call in flight, or with its answer on record, when the next may be in flight.
fn cells_are_right(place: &Place, n: usize, recorded: bool) {
    let states = states(place);
    let mut order = ["context", "draft", "final", "note"].into_iter();
    for name in order.by_ref().take(if recorded { n } else { n - 1 }) {
        assert_eq!(states[name], "completed", "{name} at {n} {recorded}: {states:?}");
    }
    if let Some(next) = order.next() {
        let may_wait = recorded && states[next] == "pending";
        assert!(states[next] == "running" || may_wait, "{next} at {n} {recorded}: {states:?}");
    }
    for name in order {
        assert_eq!(states[name], "pending", "{name} at {n} {recorded}: {states:?}");
    }
    shows_what_is_completed(place, &states);
    // A text is on record before the call that reads it.
    let read = states["final"] != "pending";
    assert!(!read || states["short"] == "completed", "{states:?}");
    assert!(n < 4 || recorded || states["has"] == "pending", "{states:?}");
}

/// The row of the result table has the outputs of the completed cells, and no others.
fn shows_what_is_completed(place: &Place, states: &BTreeMap<String, String>) {
    let table = place.windrow(&["results", "counted", "--json"]).ended_with(0).json();
    let shown: Vec<String> = table["rows"][0]["outputs"].as_object().unwrap().keys().cloned().collect();
    let outputs = ["context", "draft", "final", "note", "short"];
    let completed = states.iter().filter(|(name, state)| outputs.contains(&name.as_str()) && *state == "completed");
    assert_eq!(shown, completed.map(|(name, _)| name.clone()).collect::<Vec<_>>(), "{states:?}");
}

/// What is done of an item is in its row while the rest is computed, and every column is one of the table.
#[test]
fn a_row_at_work_shows_its_finished_cells() {
    let (endpoint, place) = (Endpoint::gated(2), Place::empty());
    pipeline(&place, &endpoint, 1, COLUMNS);
    let run = place.start(&["run", "job.yaml", "--quiet"]);
    wait_until("the third call to be in flight", || endpoint.calls() == 3);
    wait_until("the text to be on record", || states(&place)["short"] == "completed");
    let table = place.windrow(&["results", "counted", "--json"]).ended_with(0).json();
    let row = &table["rows"][0];
    assert_eq!((&row["outcome"], &row["outputs"]["context"]), (&"running".into(), &"answer about 0".into()), "{row}");
    shows_what_is_completed(&place, &states(&place));
    let columns: Vec<&str> =
        table["columns"].as_array().unwrap().iter().filter_map(|column| column["name"].as_str()).collect();
    assert!(columns.ends_with(&["output.context", "output.draft", "output.short"]), "{columns:?}");
    endpoint.open_gate();
    run.finish().ended_with(0);
    let row = &place.windrow(&["results", "counted", "--json"]).ended_with(0).json()["rows"][0];
    assert_eq!((&row["outcome"], row["outputs"].as_object().unwrap().len()), (&"pass".into(), 5), "{row}");
}

/// The inputs of the columns' calls in this state.
fn called(place: &Place, state: StepState) -> Vec<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(db) = Connection::open_with_flags(place.database(), flags) else { return Vec::new() };
    let calls = "SELECT input FROM steps WHERE state = ? AND kind = 'column' AND name <> 'short'";
    let Ok(mut query) = db.prepare(calls) else { return Vec::new() };
    query.query_map([code(state)], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn cells_are_listed_by_state_and_retried_by_column_and_row() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    let columns = "retry: { max: 0 }\ncolumns:\n  draft: { MODEL, prompt: \"{{ n }}\" }\n  \
                   short: { template: \"{{ draft }}!\" }\nevaluators:\n  \
                   - exact: { of: draft, expect: \"answer {{ n }}\", when: \"n != 2\" }\n";
    pipeline(&place, &endpoint, 4, columns);
    endpoint.fail_on([1, 3]);
    place.windrow(&["run", "job.yaml", "--keep-going"]).ended_with(0);
    let cells = |more: &[&str]| {
        let said = place.windrow(&[&["jobs", "cells", "counted", "--json"], more].concat()).ended_with(0).json();
        said["cells"].as_array().unwrap().clone()
    };
    let of = |cells: &[Value], field: &str| cells.iter().map(|cell| cell[field].clone()).collect::<Vec<_>>();
    let failed = cells(&["--status", "failed"]);
    assert_eq!((of(&failed, "column"), of(&failed, "row")), (vec!["draft".into(); 2], vec![2.into(), 4.into()]));
    assert!(failed[0]["reason"].as_str().unwrap().contains("not welcome"), "{failed:?}");
    let skipped = cells(&["--status", "skipped"]);
    let columns = of(&skipped, "column");
    assert_eq!(columns, ["short", "exact", "exact", "short", "exact"], "{skipped:?}");
    assert_eq!(skipped[0]["reason"], "`draft` failed");
    let drafts = cells(&["--column", "draft", "--status", "completed"]);
    assert_eq!(of(&drafts, "preview"), ["answer 0", "answer 2"]);

    endpoint.fail_on([3]);
    let item = failed[0]["item"].as_str().unwrap();
    place.windrow(&["jobs", "retry", "counted", "--column", "draft", "--item", item]).ended_with(0);
    let times = |n: &str| endpoint.calls_by_question()[n];
    assert_eq!(["0", "1", "2", "3"].map(times), [1, 2, 1, 1], "one cell was retried");
    let said = place.windrow(&["jobs", "retry", "counted", "--column", "short"]).ended_with(1).stderr;
    assert!(said.contains("no failed cells in short"), "{said}");
    let said = place.windrow(&["jobs", "retry", "counted", "--column", "drat"]).ended_with(2).stderr;
    assert!(said.contains("did you mean `draft`?"), "{said}");

    let server = Served::start(&place, &[]);
    let listed = server.get("/api/v1/jobs/counted/cells?column=draft&state=failed").with_status(200).json();
    assert_eq!(of(listed["cells"].as_array().unwrap(), "row"), [4]);
    let one = server.get(&format!("/api/v1/items/{item}/cells/draft")).with_status(200).json();
    assert_eq!((&one["state"], &one["value"], &one["tries"]), (&"completed".into(), &"answer 1".into(), &2.into()));
    assert_eq!((&one["record"]["kind"], &one["id"]), (&"column".into(), &drafts_id(&one)));
    server.get(&format!("/api/v1/items/{item}/cells/drat")).with_status(404);
    endpoint.fail_on([]);
    server.post_json("/api/v1/jobs/counted/retry", &json!({ "columns": ["draft"] })).with_status(201);
    server.wait_for_state("counted", "completed");
    assert_eq!(times("3"), 2);
    let left = place.windrow_at(&server, &["jobs", "cells", "counted", "--status", "failed"]).ended_with(0).stdout;
    assert!(left.contains("No cells match"), "{left}");
}

/// `PIPELINE.COLUMN.KEY`
fn drafts_id(cell: &Value) -> Value {
    let id = cell["id"].as_str().unwrap();
    let key = id.strip_prefix("counted.draft.").unwrap_or_default();
    assert_eq!(key.len(), 32, "{id}");
    cell["id"].clone()
}

#[test]
fn what_is_wrong_with_columns_is_shown_at_its_place() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    let said = |columns: &str, parts: &[&str]| {
        pipeline(&place, &endpoint, 2, columns);
        let said = place.windrow(&["check", "job.yaml"]).ended_with(2).stderr;
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said}");
        }
    };
    let cycle = "columns:\n  ask: { template: \"{{ n }}\" }\n  one: { template: \"{{ two }} {{ ask }}\" }\n  two: { template: \"{{ one }}\" }\n";
    said(cycle, &["columns read each other: `one` reads `two` reads `one`", "job.yaml:6"]);
    said("columns:\n  one: { template: \"{{ one }}\" }\n", &["the column `one` reads itself"]);
    said(
        "columns:\n  draft: { template: \"{{ n }}\" }\n  b: { template: \"{{ draught }}\" }\n",
        &["unknown field `draught`", "did you mean `draft`?"],
    );
    let judged = "columns:\n  draft: { template: \"{{ n }}\" }\nevaluators:\n  - exact: { of: draught, expect: x }\n";
    said(judged, &["unknown column `draught`", "did you mean `draft`?"]);
    said(
        "columns:\n  draft: { templat: \"{{ n }}\" }\n",
        &["does not say how it is computed", "did you mean `template`?"],
    );
    said("columns:\n  n: { template: \"x\" }\n", &["the field `n` of this row has the name of a column"]);
    said("columns:\n  a-b: { template: \"x\" }\n", &["\"a-b\" cannot be the name of a column"]);
    said("target: { recorded: { field: n } }\ncolumns:\n  a: { template: \"x\" }\n", &["both `columns` and `target`"]);
    said("columns:\n  a: { MODEL }\n", &["is asked nothing"]);
    said("target: { recorded: { field: n } }\nevaluators:\n  - exact: { of: a, expect: x }\n", &["has no `columns`"]);
    assert_eq!(endpoint.calls(), 0);
}

#[test]
fn an_evaluator_may_be_a_column_that_others_read() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    let columns = "columns:\n  draft: { MODEL, prompt: \"{{ n }}\" }\n  good: { exact: { of: draft, expect: \"answer 0\" } }\n  \
                   said: { template: \"{{ good.verdict }} {{ good.value }}\" }\nevaluators:\n  - exact: { expect: pass 1.0, name: seen }\ngates:\n  - good.mean == 0.5\n";
    pipeline(&place, &endpoint, 2, columns);
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    let passed = |name: &str| result["evaluators"][name]["pass"].clone();
    assert_eq!((passed("good"), passed("seen")), (1.into(), 1.into()), "{result}");
    let rows: Vec<Value> = place.windrow(&["results", "counted", "--json"]).json()["rows"].as_array().unwrap().clone();
    let said: Vec<&Value> = rows.iter().map(|row| &row["outputs"]["said"]).collect();
    assert_eq!(said, ["pass 1.0", "fail 0.0"]);
}

#[test]
fn a_dry_run_counts_the_calls_of_every_column() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    pipeline(&place, &endpoint, 5, COLUMNS);
    let forecast = place.windrow(&["run", "job.yaml", "--dry-run", "--json"]).ended_with(0).json();
    let lines = forecast["calls"].as_array().unwrap();
    let calls: Vec<(&str, i64)> =
        lines.iter().map(|line| (line["caller"].as_str().unwrap(), line["calls"].as_i64().unwrap())).collect();
    assert_eq!(calls, [("context", 5), ("draft", 5), ("final", 5), ("note", 5)], "{forecast}");
    assert_eq!(endpoint.calls(), 0);
}

#[test]
fn a_task_fills_one_column_and_the_next_task_reads_its_cells() {
    let (endpoint, place) = (Endpoint::open(), Place::empty());
    let server = Served::start(&place, &[]);
    place.served_job("rows", &endpoint, 2, 1);
    let model = json!({ "model": "any", "base_url": endpoint.url });
    let config = json!({
        "dataset": "rows.jsonl",
        "columns": {
            "context": { "openai": model, "prompt": "about {{ n }}" },
            "draft": { "openai": model, "prompt": "write {{ n }} with {{ context }}" },
        },
        "evaluators": [{ "contains": { "expect": "with", "name": "has", "when": "n == 0" } }],
    });
    let fill = |column: &str| {
        let body = json!({ "pipeline_id": 7, "column_id": column, "config": config }).to_string();
        server.ask("POST", "/api/eval-tasks", &["Content-Type: application/json"], &body)
    };
    let items = |column: &str| {
        let items = server.get(&format!("/api/eval-tasks/pipeline-7-column-{column}/items")).with_status(200).json();
        items["items"].as_array().unwrap().clone()
    };
    fill("context").with_status(201);
    server.wait_for_state("pipeline-7-column-context", "completed");
    assert_eq!(items("context")[0]["cell"]["preview"], "answer about 0", "{:?}", items("context"));
    assert_eq!(calls(&endpoint), counted(&[("about", 2)]));

    fill("draft").with_status(201);
    server.wait_for_state("pipeline-7-column-draft", "completed");
    assert_eq!(calls(&endpoint), counted(&[("about", 2), ("write", 2)]), "the cells of the other task are read");
    let cells: Vec<Value> = items("draft").iter().map(|item| item["cell"]["id"].clone()).collect();
    assert!(cells[0].as_str().unwrap().starts_with("7.draft.") && cells[0] != cells[1], "{cells:?}");

    fill("has").with_status(201);
    server.wait_for_state("pipeline-7-column-has", "completed");
    let states: Vec<Value> = items("has").iter().map(|item| item["status"].clone()).collect();
    assert_eq!(states, ["completed", "skipped"]);
    assert_eq!(endpoint.calls(), 4);
    let unknown = fill("draught").with_status(400).json();
    assert!(unknown.to_string().contains("did you mean `draft`?"), "{unknown}");
    let listed = server.get("/api/eval-tasks?pipeline_id=7&status=completed").with_status(200).json();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 3);
}

/// An example of the repository, with its model at another address.
fn example(place: &Place, name: &str, url: &str) {
    let folder = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        place.write(&name, &text.replace("http://127.0.0.1:8099/v1", url));
    }
}

#[test]
fn the_example_of_a_matrix_is_one_table_of_two_prompts_and_two_models() {
    let place = Place::empty();
    let mock = MockModel::start(&place, &[]);
    example(&place, "matrix", &format!("{}/v1", mock.origin));
    let result = place.windrow(&["run", "matrix.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&result["items"]["total"], &result["items"]["succeeded"]), (&240.into(), &240.into()), "{result}");
    let variants: Vec<&String> = result["variants"].as_object().unwrap().keys().collect();
    assert_eq!(variants, ["large.plain", "large.sentence", "small.plain", "small.sentence"]);
    assert_eq!(result["evaluators"]["exact"]["rows"], 60);
}

#[test]
fn the_example_of_a_pipeline_finds_drafts_shortens_and_judges() {
    let place = Place::empty();
    let mock = MockModel::start(&place, &[]);
    example(&place, "pipeline", &format!("{}/v1", mock.origin));
    let result = place.windrow(&["run", "pipeline.yaml", "--json"]).ended_with(0).json();
    for evaluator in ["found", "brief"] {
        assert_eq!(result["evaluators"][evaluator]["pass"], 4, "{evaluator}: {result}");
    }
    assert_eq!(result["evaluators"]["faithful"]["n"], 4, "{result}");
    let shown = place.windrow(&["results", "pipeline", "--columns", "row,output.context,output.short,score.faithful"]);
    let shown = shown.ended_with(0).stdout;
    assert!(shown.contains("Cancelling") && shown.contains("..."), "{shown}");
}
