//! `kind: operation`: one action over many targets, each read before and after it is changed, so that
//! an unknown outcome is looked up instead of guessed and every change can be taken back exactly.
//!
//! Handlers know how a type of target is read and changed; they are registered in [`handler`] and
//! nowhere else. [`program`] walks one target to its goal, whichever way that is.

mod file;
mod handler;
mod image;
mod kafka_connect;
mod preview;
mod program;
mod record;
mod round;
mod scripted;
mod spec;
mod target;
mod web;

use std::sync::Arc;

use async_trait::async_trait;
use windrow_model::workload::{Program, Workload};
use windrow_model::{ErrorClass, Failure, Json};

use program::Operation;
use spec::OperationSpec;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Kind;

pub use image::differences;
pub use preview::{Preview, preview};
pub use record::TargetRecord;

pub const KIND: &str = "operation";
pub const FILE_KIND: Kind = Kind { name: KIND, load: file::load, rolls_back: true };
/// What a `windrow worker` is able to do by itself, of one version only.
pub const CAPABILITY: &str = concat!("operation/", env!("CARGO_PKG_VERSION"));

/// The same definition, to be rolled back also where a target has changed since, or not.
pub fn forced(spec: &Json, force: bool) -> Result<(Json, String), serde_json::Error> {
    let mut spec: OperationSpec = spec.parse()?;
    spec.force = force;
    Ok(spec.freeze())
}

pub struct OperationWorkload {
    environment: Environment,
}

impl OperationWorkload {
    pub fn new(environment: Environment) -> Self {
        Self { environment }
    }
}

#[async_trait]
impl Workload for OperationWorkload {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn prepare(&self, workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        Ok(Arc::new(prepare(spec, self.environment.of_workspace(workspace)).await?))
    }
}

/// Reads secrets, so it must not block the runtime.
async fn prepare(spec: &Json, environment: Environment) -> Result<Operation, Failure> {
    let spec = thaw(spec)?;
    let prepared = tokio::task::spawn_blocking(move || Operation::prepare(spec, &environment)).await;
    prepared.map_err(|panic| Failure::new(ErrorClass::Handler, format!("preparing the run failed: {panic}")))?
}

fn thaw(spec: &Json) -> Result<OperationSpec, Failure> {
    spec.parse().map_err(|error| {
        let message = format!("the frozen definition does not fit this version: {error}; submit the job file again");
        Failure::new(ErrorClass::InvalidRequest, message)
    })
}
