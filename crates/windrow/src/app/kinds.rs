//! The one place where a `kind` of job file is registered.

use std::sync::Arc;

use windrow_experiment::ExperimentWorkload;
use windrow_ingest::IngestWorkload;
use windrow_jobfile::Environment;
use windrow_jobfile::dataset::Library;
use windrow_jobfile::job_file::Kind;
use windrow_model::workload::Workload;
use windrow_operation::OperationWorkload;

pub const KINDS: &[Kind] = &[windrow_experiment::FILE_KIND, windrow_operation::FILE_KIND, windrow_ingest::FILE_KIND];

/// Whether jobs of this kind change something that can be undone (B5).
pub fn rolls_back(name: &str) -> bool {
    KINDS.iter().any(|kind| kind.name == name && kind.rolls_back)
}

/// The workloads of a worker that gets its rows from a server.
pub fn workloads_of_worker(environment: Environment) -> Vec<Arc<dyn Workload>> {
    vec![Arc::new(ExperimentWorkload::new(environment.clone())), Arc::new(OperationWorkload::new(environment))]
}

/// Every workload this version can run, for the engine.
pub fn workloads(environment: Environment, library: Library) -> Vec<Arc<dyn Workload>> {
    vec![
        Arc::new(ExperimentWorkload::new(environment.clone()).with_library(library.clone())),
        Arc::new(OperationWorkload::new(environment.clone()).with_library(library)),
        Arc::new(IngestWorkload::new(environment)),
    ]
}

#[cfg(test)]
mod keys;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use windrow_jobfile::job_file::load_with;

    use super::*;

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
            let loaded = load_with(&file, &Environment::new(|_| None), None, KINDS);
            match loaded {
                Ok(loaded) => assert!(loaded.rows > 0),
                // An operation asks the system it is about for its targets, which is not there.
                Err(report) if is_operation(&file) => {
                    let said = report.render();
                    assert!(said.contains("has 1 error.") && said.contains("connection refused"), "{said}");
                }
                Err(report) => panic!("{}:\n{}", file.display(), report.render()),
            }
        }
    }
}
