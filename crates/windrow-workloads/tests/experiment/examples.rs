//! The examples that come with Windrow: every job file can be loaded as it stands.

use std::path::{Path, PathBuf};

use windrow_workloads::Environment;
use windrow_workloads::job_file::load_in;

fn job_files() -> Vec<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let folders = std::fs::read_dir(root).unwrap().map(|folder| folder.unwrap().path());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
    files.filter(|file| file.extension().is_some_and(|extension| extension == "yaml")).collect()
}

fn is_operation(file: &Path) -> bool {
    std::fs::read_to_string(file).unwrap().contains("kind: operation")
}

#[test]
fn every_example_can_be_loaded_without_a_key() {
    let files = job_files();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let loaded = load_in(&file, &Environment::new(|_| None));
        match loaded {
            Ok(loaded) => assert!(loaded.rows > 0),
            // An operation asks the system it is about for its targets, which is not there.
            Err(report) if is_operation(&file) => {
                let said = report.plain();
                assert!(said.contains("has a problem;") && said.contains("Connection refused"), "{said}");
            }
            Err(report) => panic!("{}:\n{}", file.display(), report.plain()),
        }
    }
}
