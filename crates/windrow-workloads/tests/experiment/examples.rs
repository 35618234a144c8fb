//! The examples that come with Windrow: every job file can be loaded as it stands.

use std::path::PathBuf;

use windrow_workloads::Environment;
use windrow_workloads::job_file::load_in;

fn job_files() -> Vec<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let folders = std::fs::read_dir(root).unwrap().map(|folder| folder.unwrap().path());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
    files.filter(|file| file.extension().is_some_and(|extension| extension == "yaml")).collect()
}

#[test]
fn every_example_can_be_loaded_without_a_key() {
    let files = job_files();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let loaded = load_in(&file, &Environment::new(|_| None));
        let loaded = loaded.unwrap_or_else(|report| panic!("{}:\n{}", file.display(), report.plain()));
        assert!(loaded.rows > 0);
    }
}
