//! A data folder and a PostgreSQL schema written by an earlier version (before the layout of the code and of its SQL
//! changed) are opened and continued: nothing finished is repeated, and an operation rolls back to what it found.
//!
//! `tests/earlier/` holds both. Each was made by killing `windrow run` half way: `finished` is over, `unfinished` has 10
//! of 20 rows, `change` waits for the approval of its second wave, `orders` has ingested one file. Definitions name their folder,
//! so the files are unpacked to the path where they were made.

use std::fs::{File, read_to_string};
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use rustix::fs::{FlockOperation, flock};

use crate::place::Place;
use crate::services;

const HOME: &str = "/tmp/windrow-earlier";

/// The folder as it was left. Only one process at a time may have it.
fn unpacked(name: &str) -> (Place, File) {
    std::fs::create_dir_all(HOME).unwrap();
    let lock = File::create(format!("{HOME}/{name}.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let dir = PathBuf::from(HOME).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    let archive = include_bytes!("../earlier/data.tar.gz").as_slice();
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().starts_with(name) {
            entry.unpack_in(HOME).unwrap();
        }
    }
    (Place::at(dir), lock)
}

#[test]
fn a_data_folder_of_an_earlier_version_is_continued() {
    let (place, _lock) = unpacked("sqlite");
    continues(&place, &[]);
}

#[test]
fn a_postgres_schema_of_an_earlier_version_is_continued() {
    let (place, _lock) = unpacked("postgres");
    let url = services::postgres();
    let (server, schema) = url.split_once("?sslmode=disable&schema=").unwrap();
    let mut dump = String::new();
    GzDecoder::new(include_bytes!("../earlier/postgres.sql.gz").as_slice()).read_to_string(&mut dump).unwrap();
    // Lines for psql are not SQL.
    let dump: String = dump.lines().filter(|line| !line.starts_with('\\')).map(|line| format!("{line}\n")).collect();
    let dump = dump.replace("earlier.", &format!("{schema}.")).replace("SCHEMA earlier", &format!("SCHEMA {schema}"));
    postgres::Client::connect(server, postgres::NoTls).unwrap().batch_execute(&dump).unwrap();
    continues(&place, &[("WINDROW_DATABASE_URL", &url)]);
}

fn continues(place: &Place, variables: &[(&str, &str)]) {
    let windrow = |arguments: &[&str]| place.windrow_with(variables, arguments);
    let jobs = windrow(&["jobs", "list", "--json"]).ended_with(0).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 4, "{jobs}");

    // Every answer of the finished job is known by the same content key as before.
    let again = windrow(&["run", "finished.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&again["run"]["no"], &again["items"]["succeeded"]), (&2.into(), &20.into()));
    assert_eq!(lines(place, "finished.log"), 20, "a finished call was repeated");

    // Two of twelve calls were in flight when the process was killed.
    place.write("gate.open", "");
    let resumed = windrow(&["run", "unfinished.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&resumed["resumed"], &resumed["items"]["succeeded"]), (&true.into(), &20.into()));
    assert_eq!(lines(place, "calls.log"), 22, "a finished call was repeated");

    windrow(&["jobs", "approve", "change", "--all"]).ended_with(0);
    let changed = windrow(&["run", "change.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&changed["run"]["no"], &changed["items"]["succeeded"]), (&1.into(), &6.into()));
    assert!(targets(place).iter().all(|target| target == "{\"v\": 2}"), "{:?}", targets(place));
    windrow(&["jobs", "rollback", "change"]).ended_with(0);
    assert!(targets(place).iter().all(|target| target == "{\"v\": 1}"), "{:?}", targets(place));

    place.write("orders-2.jsonl", "{\"id\": 3, \"amount\": 31}\n{\"id\": 4, \"amount\": 40}\n");
    let ingested = windrow(&["run", "orders.yaml", "--json"]).ended_with(0).json();
    assert_eq!(ingested["ingest"]["fetched"], 2, "only the new file is read: {ingested}");
}

fn lines(place: &Place, file: &str) -> usize {
    read_to_string(place.path(file)).unwrap().lines().count()
}

fn targets(place: &Place) -> Vec<String> {
    ["a", "b", "c", "d", "e", "f"].map(|name| read_to_string(place.path(name)).unwrap()).to_vec()
}
