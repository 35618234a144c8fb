//! The one place where a `kind` of job file is registered.

use std::sync::Arc;

use windrow_model::workload::Workload;

use crate::LoadedJob;
use crate::dataset::Library;
use crate::environment::Environment;
use crate::experiment::{self, ExperimentWorkload};
use crate::ingest::{self, IngestWorkload};
use crate::job_file::{Base, Section};
use crate::operation::{self, OperationWorkload};
use crate::report::Problems;

/// Reads the rest of a job file whose `kind` is known. `None` when problems were found.
pub type Loader = fn(Base<'_>, Section, &Environment, Option<&Library>, &mut Problems) -> Option<LoadedJob>;

pub struct Kind {
    pub name: &'static str,
    pub load: Loader,
    /// What its items do can be undone.
    pub rolls_back: bool,
}

pub const KINDS: &[Kind] = &[
    Kind { name: experiment::KIND, load: experiment::file::load, rolls_back: false },
    Kind { name: operation::KIND, load: operation::file::load, rolls_back: true },
    Kind { name: ingest::KIND, load: ingest::file::load, rolls_back: false },
];

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
        Arc::new(ExperimentWorkload::new(environment.clone()).with_library(library)),
        Arc::new(OperationWorkload::new(environment.clone())),
        Arc::new(IngestWorkload::new(environment)),
    ]
}
