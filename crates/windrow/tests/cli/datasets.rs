//! Named datasets: import, list, show, diff, export, run and delete.

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::place::{Place, Said, wait_until};

const SCHEMA: &str = r#"{"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}"#;

fn place(rows: &str) -> Place {
    let place = Place::empty();
    place.write("rows.jsonl", rows);
    place
}

fn rows(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|n| format!("{{\"id\": {n}, \"q\": \"question {n}\"}}\n")).collect()
}

#[track_caller]
fn says(said: &Said, parts: &[&str]) {
    for part in parts {
        assert!(
            said.stderr.contains(part) || said.stdout.contains(part),
            "no {part:?} in {}{}",
            said.stdout,
            said.stderr
        );
    }
}

#[test]
fn rows_in_another_order_are_the_same_version() {
    let place = place(&rows(0..50));
    let first = place.windrow(&["datasets", "import", "rows.jsonl", "--json"]).ended_with(0).json();
    assert_eq!((&first["name"], &first["unchanged"]), (&json!("rows"), &json!(false)));
    assert_eq!((&first["version"]["version"], &first["version"]["rows"]), (&json!(1), &json!(50)));
    // Order, white space and key order do not matter; only the content does.
    place.write(
        "back.jsonl",
        &rows((0..50).rev()).replace("{\"id\": 7, \"q\": \"question 7\"}", "{\"q\":\"question 7\",\"id\":7}"),
    );
    let said = place.windrow(&["datasets", "import", "back.jsonl", "--name", "rows"]).ended_with(0);
    says(&said, &["rows@1 is unchanged: 50 rows"]);
    let list = place.windrow(&["datasets", "list", "--json"]).ended_with(0).json();
    assert_eq!((&list["datasets"][0]["versions"], list["datasets"].as_array().unwrap().len()), (&json!(1), 1));
}

#[test]
fn versions_are_listed_shown_and_compared() {
    let place = place(&rows(0..5));
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "quiz"]).ended_with(0);
    place.write("rows.jsonl", &(rows(1..5).replace("question 3", "QUESTION 3") + "{\"id\": 9, \"q\": null}\n"));
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "quiz"]).ended_with(0);

    let show = place.windrow(&["datasets", "show", "quiz", "--json", "--rows", "2"]).ended_with(0).json();
    assert_eq!(show["fields"]["q"], json!({"types": ["null", "text"], "rows": 5}));
    assert_eq!((&show["version"]["version"], &show["versions"][1]["version"]), (&json!(2), &json!(1)));
    assert_eq!(show["sample"], json!([{"id": 1, "q": "question 1"}, {"id": 2, "q": "question 2"}]));
    says(&place.windrow(&["datasets", "show", "quiz@1"]).ended_with(0), &["quiz@1: 5 rows", "integer", "question 0"]);

    let diff = place.windrow(&["datasets", "diff", "quiz@1", "quiz@2", "--json"]).ended_with(0).json();
    let counts = ["added", "removed", "changed"].map(|what| diff[what].as_i64().unwrap());
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(diff["rows"]["added"], json!([{"id": 9, "q": null}]));
    assert_eq!(diff["rows"]["removed"], json!([{"id": 0, "q": "question 0"}]));
    let changed = json!([{"old": {"id": 3, "q": "question 3"}, "new": {"id": 3, "q": "QUESTION 3"}}]);
    assert_eq!(diff["rows"]["changed"], changed);
    let said = place.windrow(&["datasets", "diff", "quiz@1"]).ended_with(0);
    says(&said, &["quiz@1 → quiz@2: 1 added, 1 removed, 1 changed", "< {\"id\": 3", "> {\"id\": 3"]);
    says(&place.windrow(&["datasets", "diff", "quiz@2", "quiz"]).ended_with(0), &["have the same rows"]);
}

#[test]
fn every_exported_format_is_imported_as_the_same_rows() {
    let odd = "{\"id\": 1, \"q\": \"a,\\\"b\\\"\\n\", \"tags\": [1, \"x\"], \"score\": 0.5, \"ok\": true, \"none\": null}\n\
               {\"id\": 2, \"q\": \"ü\", \"deep\": {\"a\": [{}]}, \"mixed\": 1}\n{\"id\": 18446744073709551615, \"mixed\": \"1\"}\n";
    let place = place(odd);
    let first = place.windrow(&["datasets", "import", "rows.jsonl", "--json"]).ended_with(0).json();
    for format in ["jsonl", "json", "parquet"] {
        let file = format!("out.{format}");
        place.windrow(&["datasets", "export", "rows", "-o", &file]).ended_with(0);
        let again = place.windrow(&["datasets", "import", &file, "--name", format, "--json"]).ended_with(0).json();
        assert_eq!(again["version"]["digest"], first["version"]["digest"], "{format}");
    }
    let csv = place.windrow(&["datasets", "export", "rows@1", "--format", "csv"]).ended_with(0).stdout;
    assert!(
        csv.starts_with("deep,id,mixed,none,ok,q,score,tags\n,1,,,true,\"a,\"\"b\"\"\n\",0.5,\"[1,\"\"x\"\"]\"\n"),
        "{csv}"
    );
    let yaml = place.windrow(&["datasets", "export", "rows", "--format", "yaml"]).ended_with(2);
    says(&yaml, &["use jsonl, json, csv or parquet"]);
}

#[test]
fn the_schema_applies_to_every_later_version() {
    let place = place(&(rows(0..3) + "{\"id\": 3}\n{\"q\": 4}\nnot json\n"));
    place.write("schema.json", SCHEMA);
    let said = place.windrow(&["datasets", "import", "rows.jsonl", "--schema", "schema.json"]).ended_with(2);
    says(
        &said,
        &[
            "has 3 errors. Nothing was stored.",
            "rows.jsonl:4:1",
            "the schema does not allow this row: \"q\" is a required property",
            "rows.jsonl:5:1",
            "the schema does not allow this row at /q: 4 is not of type \"string\"",
            "rows.jsonl:6:",
            "this row is not JSON",
        ],
    );
    assert!(!place.data().exists(), "something was stored");
    place.write("rows.jsonl", &rows(0..3));
    place.windrow(&["datasets", "import", "rows.jsonl", "--schema", "schema.json"]).ended_with(0);
    place.write("rows.jsonl", "{\"q\": 7}\n");
    let said = place.windrow(&["datasets", "import", "rows.jsonl"]).ended_with(2);
    says(&said, &["rows.jsonl:1:1", "the schema does not allow this row at /q"]);
    place.write("open.json", "true");
    place.windrow(&["datasets", "import", "rows.jsonl", "--schema", "open.json"]).ended_with(0);
    let show = place.windrow(&["datasets", "show", "rows", "--json"]).json();
    assert_eq!((&show["version"]["version"], &show["schema"]), (&json!(2), &json!(true)));
    place.write("broken.json", "{\"type\": 7}");
    says(
        &place.windrow(&["datasets", "import", "rows.jsonl", "--schema", "broken.json"]).ended_with(2),
        &["broken.json is not a JSON Schema"],
    );
}

#[test]
fn errors_have_a_remedy() {
    let place = place(&rows(0..3));
    says(&place.windrow(&["datasets", "list"]).ended_with(1), &["no data directory"]);
    says(&place.windrow(&["datasets", "import", "gone.jsonl"]).ended_with(2), &["file gone.jsonl not found"]);
    place.write("rows.txt", "x");
    says(&place.windrow(&["datasets", "import", "rows.txt"]).ended_with(2), &["--format", "parquet"]);
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "a@1"]).ended_with(2);
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "quiz"]).ended_with(0);
    says(
        &place.windrow(&["datasets", "show", "qiuz"]).ended_with(1),
        &["dataset \"qiuz\" not found", "did you mean \"quiz\"?"],
    );
    says(
        &place.windrow(&["datasets", "show", "quiz@7"]).ended_with(1),
        &["quiz has no version 7", "its versions are 1"],
    );
    says(&place.windrow(&["datasets", "diff", "quiz@1", "other@1"]).ended_with(1), &["different datasets"]);
    place.windrow(&["datasets", "export", "quiz@x"]).ended_with(2);
    says(
        &place.windrow(&["datasets", "export", "quiz", "-o", "no/such/file"]).ended_with(1),
        &["cannot write no/such/file"],
    );
    place.write("rows.jsonl", "");
    says(&place.windrow(&["datasets", "import", "rows.jsonl"]).ended_with(2), &["rows.jsonl has no rows"]);
}

#[test]
fn a_job_runs_on_the_version_it_names_and_on_the_newest_otherwise() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 4, 4);
    let job = std::fs::read_to_string(place.path("job.yaml")).unwrap();
    let named = |dataset: &str| job.replace("counted.jsonl", dataset);
    place.write("job.yaml", &named("{ name: counted }"));
    says(
        &place.windrow(&["run", "job.yaml"]).ended_with(2),
        &["dataset \"counted\" not found", "datasets import FILE"],
    );
    place.windrow(&["datasets", "import", "counted.jsonl"]).ended_with(0);
    place.write("counted.jsonl", "{\"n\": 7}\n{\"n\": 8}\n");
    place.windrow(&["datasets", "import", "counted.jsonl"]).ended_with(0);
    let newest = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(newest["items"]["total"], 2);
    place.write("job.yaml", &named("{ name: counted, version: 1 }").replace("name: counted\n", "name: first\n"));
    let first = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&first["items"]["total"], &first["evaluators"]["exact"]["pass"]), (&json!(4), &json!(4)));
    let show = place.windrow(&["jobs", "show", "first", "--json"]).json();
    assert_eq!((&show["spec"]["dataset"]["name"], &show["spec"]["dataset"]["version"]), (&json!("counted"), &json!(1)));
    for (wrong, part) in [
        ("{ name: counted, version: 5 }", "has no version 5"),
        ("{ name: cuonted }", "did you mean `counted`?"),
        ("{ name: counted, path: a.csv }", "has both `path` and `name`"),
        ("{ shape: auto }", "has neither `path` nor `name`"),
        ("{ path: counted.jsonl, version: 1 }", "a file has no `version`"),
        ("{ name: counted, format: csv }", "`format` and `delimiter` are of files"),
    ] {
        place.write("job.yaml", &named(wrong));
        says(&place.windrow(&["run", "job.yaml"]).ended_with(2), &["job.yaml:3", part]);
    }
}

#[test]
fn a_killed_import_leaves_nothing_visible_and_the_next_one_succeeds() {
    let place = place(&rows(0..100_000));
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "other"]).ended_with(0);
    let import = place.start(&["datasets", "import", "rows.jsonl"]);
    wait_until("rows of the import on disk", || stored(&place, "draft") > 0);
    import.kill();
    assert!(stored(&place, "draft") < 100_000, "it was killed half way");
    says(&place.windrow(&["datasets", "show", "rows"]).ended_with(1), &["dataset \"rows\" not found"]);
    let again = place.windrow(&["datasets", "import", "rows.jsonl", "--json"]).ended_with(0).json();
    assert_eq!((&again["version"]["version"], &again["version"]["rows"]), (&json!(1), &json!(100_000)));
    assert_eq!((stored(&place, "draft"), stored(&place, "dropped"), stored(&place, "ready")), (0, 0, 200_000));
}

#[test]
fn deleting_takes_a_version_or_all_of_it() {
    let place = place(&rows(0..5));
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "quiz"]).ended_with(0);
    place.write("rows.jsonl", &rows(3..9));
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "quiz"]).ended_with(0);
    says(&place.windrow(&["datasets", "delete", "quiz@1", "--yes"]).ended_with(0), &["Deleted quiz@1"]);
    let left = place.windrow(&["datasets", "export", "quiz"]).ended_with(0).stdout;
    assert_eq!(
        left.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect::<Value>(),
        json!([3, 4, 5, 6, 7, 8])
    );
    let gone = place.windrow(&["datasets", "delete", "quiz", "--yes", "--json"]).ended_with(0).json();
    assert_eq!(gone, json!({"name": "quiz", "versions": [2]}));
    assert_eq!(place.windrow(&["datasets", "list", "--json"]).json(), json!({"datasets": []}));
}

/// Entries of versions in this state, read from the database file.
fn stored(place: &Place, state: &str) -> i64 {
    let Ok(conn) = rusqlite::Connection::open_with_flags(place.database(), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
    else {
        return 0;
    };
    let sql =
        "SELECT count(*) FROM dataset_entries e JOIN dataset_versions v ON v.id = e.version_id WHERE v.state = ?1";
    conn.query_row(sql, [state], |row| row.get(0)).unwrap_or(0)
}
