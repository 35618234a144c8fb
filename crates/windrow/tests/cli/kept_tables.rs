//! Result tables that are kept on disk: the next process reads only what changed, and believes no file that does not say
//! what the records say (T6).

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::client::Served;
use crate::place::Place;
use crate::torture::code;

const ROWS: usize = 2_200;

/// Enough rows to be kept; every tenth is wrong. No model is called.
fn finished() -> Place {
    let place = Place::empty();
    let right = |n: usize| if n.is_multiple_of(10) { n + 1 } else { n };
    let row = |n: usize| format!("{{\"n\": {n}, \"said\": \"it is {}\", \"lang\": \"l{}\"}}\n", right(n), n % 7);
    place.write("rows.jsonl", &(0..ROWS).map(row).collect::<String>());
    let job = "kind: experiment\nname: large\ndataset: rows.jsonl\ntarget: { recorded: { field: said } }\n\
               evaluators:\n  - exact: { expect: \"it is {{ n }}\" }\n";
    place.write("job.yaml", job);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    place
}

fn results(place: &Place, args: &[&str]) -> Value {
    place.windrow(&[&["results", "large", "--json"], args].concat()).ended_with(0).json()
}

fn kept(place: &Place) -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(place.data().join("tables")) else { return Vec::new() };
    found.map(|file| file.unwrap().path()).collect()
}

/// Without what differs from one view to the next.
fn numbers(mut found: Value) -> Value {
    for name in ["view", "as_of"] {
        found[name].take();
    }
    found
}

/// The time that opening a file sets anew; writing it also does.
fn make_old(file: &PathBuf) -> SystemTime {
    let old = SystemTime::now() - Duration::from_secs(3_600);
    std::fs::File::options().append(true).open(file).unwrap().set_modified(old).unwrap();
    old
}

fn bytes_of(file: &PathBuf) -> Vec<u8> {
    std::fs::read(file).unwrap()
}

#[test]
fn a_table_is_kept_for_the_next_process_which_reads_only_what_changed() {
    let place = finished();
    assert!(kept(&place).is_empty());
    let first = numbers(results(&place, &["--where", "outcome = fail", "--sort=-row", "--group", "field.lang"]));
    assert_eq!((&first["total"], &first["behind"]), (&220.into(), &0.into()));
    let files = kept(&place);
    assert_eq!(files.len(), 1, "{files:?}");
    let (written, old) = (bytes_of(&files[0]), make_old(&files[0]));
    let again = numbers(results(&place, &["--where", "outcome = fail", "--sort=-row", "--group", "field.lang"]));
    assert_eq!(first, again);
    assert!(std::fs::metadata(&files[0]).unwrap().modified().unwrap() > old, "the file was opened");
    assert_eq!(bytes_of(&files[0]), written, "and not written");
    // What changed since is read from the records.
    let item = results(&place, &["--where", "row = 11"])["rows"][0]["item"].as_str().unwrap().to_owned();
    place.windrow(&["label", "large", &item, "exact=fail"]).ended_with(0);
    let found = results(&place, &["--where", "label.exact = fail"]);
    assert_eq!((&found["total"], &found["rows"][0]["row"]), (&1.into(), &11.into()));
    assert_eq!(bytes_of(&files[0]), written, "a few rows are not worth a new file");
    // Whole texts come back: previews, reasons, fields.
    let row = &results(&place, &["--where", "row = 21"])["rows"][0];
    assert_eq!((&row["output"], &row["fields"]["lang"]), (&"it is 21".into(), &"l6".into()), "{row}");
    place.windrow(&["jobs", "delete", "large", "--yes"]).ended_with(0);
    assert!(kept(&place).is_empty(), "a deleted job leaves no table");
}

#[test]
fn a_damaged_table_is_read_anew() {
    let place = finished();
    let first = numbers(results(&place, &["--where", "score.exact = 0"]));
    let file = kept(&place).remove(0);
    let whole = bytes_of(&file);
    for at in [0, whole.len() / 3, whole.len() - 60, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x20;
        std::fs::write(&file, &damaged).unwrap();
        assert_eq!(numbers(results(&place, &["--where", "score.exact = 0"])), first, "byte {at}");
        assert_ne!(bytes_of(&file), damaged, "the file was written again");
    }
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(numbers(results(&place, &["--where", "score.exact = 0"])), first);
    std::fs::write(&file, "").unwrap();
    assert_eq!(numbers(results(&place, &["--where", "score.exact = 0"])), first);
}

/// The numbers of changes go on from where the restored database was, so they alone do not tell.
#[test]
fn a_table_of_what_a_restored_database_no_longer_has_is_not_believed() {
    let place = finished();
    let (database, older) = (place.database(), place.path("older.db"));
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    Connection::open(&database).unwrap().query_row(checkpoint, (), |_| Ok(())).unwrap();
    std::fs::copy(&database, &older).unwrap();
    let rows = std::fs::read_to_string(place.path("rows.jsonl")).unwrap();
    let append = |from: usize, rows: usize, said: &str| {
        let row = |n: usize| format!("{{\"n\": {n}, \"said\": \"{said}\", \"lang\": \"new\"}}\n");
        let all = std::fs::read_to_string(place.path("rows.jsonl")).unwrap();
        place.write("rows.jsonl", &(all + &(from..from + rows).map(row).collect::<String>()));
        place.windrow(&["run", "job.yaml", "--append", "--quiet"]).ended_with(0);
    };
    append(ROWS, 300, "lost");
    assert_eq!(results(&place, &["--where", "output = lost"])["total"], 300);
    let file = kept(&place).remove(0);
    let written = bytes_of(&file);
    for rest in ["windrow.db-wal", "windrow.db-shm"] {
        std::fs::remove_file(place.data().join(rest)).ok();
    }
    std::fs::copy(&older, &database).unwrap();
    place.write("rows.jsonl", &rows);
    append(ROWS + 300, 500, "found");
    let found = results(&place, &["--group", "field.lang"]);
    assert_eq!(results(&place, &["--where", "output = lost"])["total"], 0, "{found}");
    assert_eq!(results(&place, &["--where", "output = found"])["total"], 500);
    assert_ne!(bytes_of(&file), written);
}

/// A change that the log does not have is the failure that nothing else shows.
#[test]
fn rows_that_differ_from_the_records_are_found_and_rebuilt() {
    let place = finished();
    results(&place, &[]);
    let doctor = || {
        let said = place.windrow_with(&[("WINDROW_LISTEN", "127.0.0.1:9")], &["doctor", "--json"]);
        let checks = said.json()["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "result tables").unwrap()
    };
    assert_eq!(doctor()["grade"], "ok", "{}", doctor());
    let rebuilt = place.windrow(&["results", "rebuild", "large", "--json"]).ended_with(0).json();
    assert_eq!(
        (&rebuilt["rows"], &rebuilt["compared"], &rebuilt["differing"]),
        (&2_200.into(), &true.into(), &0.into())
    );
    let database = Connection::open(place.database()).unwrap();
    database.execute("UPDATE items SET latency_ms = coalesce(latency_ms, 0) + 1000", ()).unwrap();
    let found = doctor();
    assert_eq!((&found["grade"], &found["remedy"]), (&"failure".into(), &"windrow results rebuild large".into()));
    let said = place.windrow(&["results", "rebuild", "large"]).ended_with(0).stdout;
    assert!(said.contains("2,200 rows differed from the records:") && said.contains(": latency_ms"), "{said}");
    assert_eq!(doctor()["grade"], "ok");
    // A person who asks is never shown such rows: a sample is compared when the file is opened.
    database.execute("UPDATE items SET latency_ms = coalesce(latency_ms, 0) + 1000", ()).unwrap();
    assert_eq!(results(&place, &["--where", "latency_ms >= 2000"])["total"], 2_200);
    // A counter that is not that of the rows is said, too; over HTTP as here.
    let failed = code(windrow_model::state::ItemState::Failed);
    database.execute("UPDATE items SET state = ? WHERE ordinal = 3", [failed]).unwrap();
    let server = Served::start(&place, &[]);
    let rebuilt = place.windrow_at(&server, &["results", "rebuild", "large", "--json"]).ended_with(0).json();
    assert_eq!((&rebuilt["compared"], &rebuilt["differing"]), (&true.into(), &1.into()), "{rebuilt}");
    assert_eq!(rebuilt["differences"][0]["names"], json!(["state", "outcome"]), "{rebuilt}");
    let counters = rebuilt["counters"].to_string();
    assert!(counters.contains("failed: 0 counted, 1 rows"), "{rebuilt}");
}
