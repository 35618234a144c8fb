//! Results taken away: every format through the binary, from the data directory and from a server (E16, T6).

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::{Endpoint, Reaction};
use crate::place::{Place, wait_until};
use crate::scale::peak_kb;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/exported.py");
const ROWS: i64 = 250;

/// Unicode, a formula, a long text, a list and a null; every fifth answer is wrong.
fn finished(endpoint: &Endpoint) -> Place {
    let place = Place::empty();
    let row = |n: i64| {
        let answer = if n % 5 == 0 { "=1+1".to_owned() } else { format!("answer {n}") };
        let note = if n == 7 { Value::Null } else { json!("größe 😀 ".repeat(40)) };
        json!({"n": n, "share": n as f64 / 3.0 + 0.5, "tags": ["a", n], "good": n % 2 == 0, "note": note, "answer": answer})
    };
    let job = "  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"{{ answer }}\" }\n";
    place.write_experiment(endpoint, &(0..ROWS).map(row).collect::<Vec<_>>(), job);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn jsonl_and_csv_have_every_row_with_full_texts() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let rows = lines(&place.windrow(&["export", "counted"]).ended_with(0).stdout);
    assert_eq!(rows.len() as i64, ROWS);
    assert_eq!(
        (&rows[10]["row"], &rows[10]["field.n"], &rows[10]["field.answer"]),
        (&11.into(), &10.into(), &"=1+1".into())
    );
    assert_eq!((&rows[10]["score.exact"], &rows[10]["verdict.exact"]), (&json!(0.0), &"fail".into()));
    assert_eq!((&rows[11]["output"], &rows[11]["outcome"]), (&"answer 11".into(), &"pass".into()));
    assert_eq!((&rows[7]["field.note"], &rows[7]["field.tags"]), (&Value::Null, &json!(["a", 7])));
    assert_eq!(rows[8]["field.note"].as_str().unwrap().chars().count(), 8 * 40);

    let chosen = ["--where", "outcome = fail and field.n < 20", "--columns", "row,field.answer,score.exact,field.tags"];
    let csv = place.windrow(&[&["export", "counted", "--format", "csv"], &chosen[..]].concat()).ended_with(0).stdout;
    let expected: String = [0, 5, 10, 15].map(|n| format!("{},'=1+1,0.0,\"[\"\"a\"\",{n}]\"\n", n + 1)).concat();
    assert_eq!(csv, format!("row,field.answer,score.exact,field.tags\n{expected}"));

    let said = place.windrow(&["export", "counted#1", "-o", "all.csv"]).ended_with(0).stderr;
    assert!(said.starts_with("Exported 250 rows, 29 columns to all.csv ("), "{said}");
    let wrong = place.windrow(&["export", "counted", "--where", "score.exacct = 1"]).ended_with(2).stderr;
    assert!(wrong.contains("did you mean `score.exact`?"), "{wrong}");
    assert!(!place.path("x.csv.unfinished").exists());
}

#[test]
fn duckdb_reads_from_parquet_what_the_database_has() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.windrow(&["export", "counted", "-o", "all.parquet"]).ended_with(0);
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-env/bin/python");
    let mut command = Command::new(python);
    command.arg(SCRIPT).arg(place.database()).arg(place.path("all.parquet"));
    let said = command.output().expect("no Python environment; run scripts/python-env");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let found: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(found["rows"], ROWS);
    let types = &found["types"];
    for (name, kind) in [
        ("row", "BIGINT"),
        ("score.exact", "DOUBLE"),
        ("field.good", "BOOLEAN"),
        ("flaky", "BOOLEAN"),
        ("output", "VARCHAR"),
    ] {
        assert_eq!(types[name], kind, "{name}");
    }
}

#[test]
fn a_server_streams_the_same_file_also_of_a_running_job() {
    let endpoint = Endpoint::gated(30);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("half", &endpoint, 60, 10)).with_status(201);
    wait_until("half of the rows", || endpoint.answered() >= 30);
    let rows = lines(&server.get("/api/v1/jobs/half/export?columns=row,outcome,output").with_status(200).body);
    assert_eq!(rows.len(), 60);
    let done: Vec<&Value> = rows.iter().filter(|row| row["outcome"] == "pass").collect();
    assert!(done.len() < 60 && done.iter().all(|row| row["output"].is_string()), "{rows:?}");
    endpoint.open_gate();
    server.wait_for_state("half", "completed");
    let there = place.windrow_at(&server, &["export", "half"]).ended_with(0).stdout;
    let at_once = server.get("/api/v1/jobs/half/export").with_status(200).body;
    assert_eq!((there.lines().count(), there), (60, at_once));
    server.get("/api/v1/jobs/half/export?where=outcome%20=%20fial").with_status(422);
}

/// 2.7 MB, and no chunk splits a character.
#[test]
fn a_large_text_is_read_in_chunks() {
    let place = Place::empty();
    let text = "größe 😀 ".repeat(200_000);
    place.write("rows.jsonl", &(json!({ "n": 1, "said": text, "answer": "ok" }).to_string() + "\n"));
    let job = "kind: experiment\nname: large\ndataset: rows.jsonl\ntarget: { recorded: { field: said } }\nevaluators:\n  \
               - exact: { expect: ok }\n";
    place.write("job.yaml", job);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let found = place.windrow(&["results", "large", "--json"]).ended_with(0).json();
    let texts = format!("/api/v1/items/{}/texts", found["rows"][0]["item"].as_str().unwrap());
    let server = Served::start(&place, &[]);
    for (name, limit) in [("output", 1 << 20), ("field.said", 700_001)] {
        let (mut whole, mut next, mut chunks) = (String::new(), Some(0), 0);
        while let Some(offset) = next {
            let page = server.get(&format!("{texts}/{name}?offset={offset}&limit={limit}")).with_status(200).json();
            let chunk = page["text"].as_str().unwrap();
            assert!(chunk.len() <= limit && chunk.len() + 4 > limit || page["next"].is_null(), "{}", chunk.len());
            assert_eq!((&page["total"], page["offset"].as_i64()), (&text.len().into(), Some(offset)));
            whole += chunk;
            (next, chunks) = (page["next"].as_i64(), chunks + 1);
        }
        assert!(whole == text && chunks == text.len().div_ceil(limit), "{name}: {chunks} chunks");
    }
    let missing = server.get(&format!("{texts}/outptu")).with_status(422).json();
    assert!(missing.to_string().contains("did you mean `output`?"), "{missing}");
    server.get(&format!("{texts}/latency_ms")).with_status(422);
    server.get(&format!("{texts}/message")).with_status(404);
    let end = server.get(&format!("{texts}/output?offset=99999999")).with_status(200).json();
    assert_eq!((&end["text"], &end["next"]), (&"".into(), &Value::Null));
}

#[test]
fn attempts_are_rows_of_their_own() {
    let endpoint = Endpoint::open();
    endpoint.reacts_with([Reaction::ServerError]);
    let place = Place::with_rows(&endpoint, 2, 1);
    place.append("job.yaml", "retry: { max: 0 }");
    place.windrow(&["run", "job.yaml"]);
    place.windrow(&["jobs", "retry", "counted"]).ended_with(0);
    let rows = lines(&place.windrow(&["export", "counted", "--attempts"]).ended_with(0).stdout);
    let ends = |row: &Value| {
        let value = |name: &str| row[name].clone();
        [value("row"), value("attempt"), value("attempt_outcome"), value("error"), value("score.exact"), value("run")]
    };
    let found: Vec<Value> = rows.iter().map(|row| json!(ends(row))).collect();
    let failed = json!([1, 1, "failed", "server", null, 1]);
    assert_eq!(found, [failed, json!([1, 2, "succeeded", null, 1.0, 2]), json!([2, 1, "succeeded", null, 1.0, 1])]);
}

#[test]
fn the_page_has_cards_worst_rows_and_regressions_and_loads_nothing() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.edit("job.yaml", "{{ n }}\"\nevaluators", "{{ n }} again</script>\"\nevaluators");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place.windrow(&["export", "counted#2", "--vs", "#1", "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    let data = page.split("const data = ").nth(1).unwrap().lines().next().unwrap().trim_end_matches(';');
    assert!(!data.contains('<'), "a row could end the script");
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!((&data["view"]["total"], data["rows"].as_array().unwrap().len()), (&ROWS.into(), ROWS as usize));
    let exact = &data["view"]["metrics"][0];
    assert_eq!((&exact["paired"]["n"], &exact["paired"]["regressed"]), (&ROWS.into(), &200.into()));
    assert_eq!((data["regressed"].as_array().unwrap().len(), data["worst"].as_array().unwrap().len()), (20, 10));
    assert_ne!(data["regressed"][0]["baseline"]["output"], data["regressed"][0]["output"]);
}

#[test]
fn a_table_of_large_texts_is_exported_within_150_mb() {
    const ROWS: usize = 2_500;
    let place = Place::empty();
    let text = "größe ".repeat(1_750);
    let rows: String = (0..ROWS).map(|n| json!({ "n": n, "said": "ok", "text": text }).to_string() + "\n").collect();
    assert!(rows.len() > 32 << 20);
    place.write("rows.jsonl", &rows);
    let job = "kind: experiment\nname: large\ndataset: rows.jsonl\ntarget: { recorded: { field: said } }\nevaluators:\n  \
               - exact: { expect: ok }\nconcurrency: 64\n";
    place.write("job.yaml", job);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    for format in ["parquet", "jsonl"] {
        let file = format!("all.{format}");
        let peak = peak_kb(place.start(&["export", "large", "-o", &file]));
        println!("{peak} kB for {format}");
        assert!(peak > 0 && peak < 150_000, "{peak} kB for {format}");
    }
}
