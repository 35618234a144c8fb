//! Nothing is accepted and ignored: every key of a job file, of every kind, changes the job or is refused. `keys.json` has
//! a file for each section, and values for its keys. The keys are those that the loader itself names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windrow_jobfile::job_file::load_with;
use windrow_jobfile::{Environment, LoadedJob, Report};

use super::KINDS;

#[derive(Deserialize)]
struct Section {
    file: Value,
    at: Vec<String>,
    change: Map<String, Value>,
    refuse: Map<String, Value>,
}

/// Like no key there is, so that the loader lists those that it knows.
const UNKNOWN: &str = "qzqzqzqz";
/// Sections that are read as one of several forms, for which the loader lists nothing.
const UNLISTED: [&str; 3] = ["schedule", "action.http.apply", "action.command.apply"];

impl Section {
    fn load(&self, folder: &Path, key: &str, value: Value) -> Result<LoadedJob, Report> {
        let mut file = self.file.clone();
        let section = self.at.iter().fold(&mut file, |section, name| &mut section[name]);
        section[key] = value;
        load(folder, &file)
    }

    fn known(&self, folder: &Path) -> Option<BTreeSet<String>> {
        let report = self.load(folder, UNKNOWN, json!(1)).expect_err("an unknown key is refused");
        let unknown = report.problems.iter().find(|problem| problem.message == format!("unknown field `{UNKNOWN}`"))?;
        let list = unknown.help.strip_prefix("known fields: ")?;
        Some(list.split(", ").map(str::to_owned).collect())
    }
}

/// Without its rows, which lie in a temporary file.
fn load(folder: &Path, file: &Value) -> Result<LoadedJob, Report> {
    let path = folder.join("job.yaml");
    // JSON is YAML.
    std::fs::write(&path, file.to_string()).unwrap();
    let job = load_with(&path, &Environment::new(|_| None), None, KINDS)?;
    Ok(LoadedJob { staged: None, ..job })
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("rows.jsonl", "{\"q\": \"a\", \"expected\": \"b\"}\n"),
        ("other.jsonl", "{\"q\": \"a\", \"expected\": \"b\", \"r\": \"x\"}\n"),
        ("rows.json", "[{\"q\": \"a\", \"expected\": \"b\"}]"),
        ("rows.csv", "q\na\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn every_key_changes_the_job_or_is_refused() {
    let sections: Vec<Section> = serde_json::from_str(include_str!("keys.json")).unwrap();
    let (folder, mut wrong) = (folder(), Vec::new());
    let mut tried: BTreeMap<(String, String), (BTreeSet<String>, &Section)> = BTreeMap::new();
    for section in &sections {
        let place = (section.file["kind"].as_str().unwrap().to_owned(), section.at.join("."));
        let job = load(folder.path(), &section.file).unwrap_or_else(|report| panic!("{place:?}: {}", report.render()));
        assert_eq!(load(folder.path(), &section.file).unwrap(), job, "{place:?}: the same file is the same job");
        for (key, value) in &section.change {
            match section.load(folder.path(), key, value.clone()) {
                Ok(changed) if changed != job => {}
                Ok(_) => wrong.push(format!("{place:?}: `{key}` is accepted and changes nothing")),
                Err(report) => wrong.push(format!("{place:?}: `{key}`: {}", report.render())),
            }
        }
        for (key, value) in &section.refuse {
            if section.load(folder.path(), key, value.clone()).is_ok() {
                wrong.push(format!("{place:?}: `{key}` has no effect and is accepted"));
            }
        }
        let keys = section.change.keys().chain(section.refuse.keys()).cloned();
        tried.entry(place).or_insert_with(|| (BTreeSet::new(), section)).0.extend(keys);
    }
    for ((kind, at), (tried, section)) in tried {
        match section.known(folder.path()) {
            Some(mut known) => {
                known.remove("kind");
                let odd: Vec<&String> = tried.symmetric_difference(&known).collect();
                if !odd.is_empty() {
                    wrong.push(format!("keys of {kind} at {at:?}: {odd:?} must be in keys.json, and nothing else"));
                }
            }
            None => assert!(UNLISTED.contains(&at.as_str()), "{kind} at {at:?} lists no keys"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
