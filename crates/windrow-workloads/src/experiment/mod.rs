//! `kind: experiment`: every row of a dataset is put to a target and its output judged by
//! evaluators. Turns, calls and findings are steps, so none is ever made twice.

mod calls;
mod component;
mod conversation;
mod evaluator;
pub(crate) mod file;
mod message;
mod process;
mod program;
mod spec;
mod step;
mod survey;
mod talk;
mod target;
mod trials;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use windrow_model::workload::{Program, Workload};
use windrow_model::{ErrorClass, Failure, Json};

use crate::environment::Environment;
use crate::job_file::{self, LoadedJob};
use crate::report::Report;
use program::Experiment;
use spec::ExperimentSpec;

pub use evaluator::page as evaluators_page;

pub const KIND: &str = "experiment";

/// Loads a job file; the same entry as [`job_file::load`], which finds out the kind by itself.
pub fn load(path: &Path) -> Result<LoadedJob, Report> {
    job_file::load(path)
}

pub struct ExperimentWorkload {
    environment: Environment,
}

impl ExperimentWorkload {
    pub fn new(environment: Environment) -> Self {
        Self { environment }
    }
}

#[async_trait]
impl Workload for ExperimentWorkload {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn prepare(&self, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let spec: ExperimentSpec = spec.parse().map_err(|error| {
            let message =
                format!("the frozen definition does not fit this version: {error}; submit the job file again");
            Failure::new(ErrorClass::InvalidRequest, message)
        })?;
        Ok(Arc::new(Experiment::prepare(spec, self.environment.clone())?))
    }
}
