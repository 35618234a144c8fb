//! `kind: operation`: one action over many targets, each read before and after it is changed, so that
//! an unknown outcome is looked up instead of guessed and every change can be taken back exactly.
//!
//! Handlers know how a type of target is read and changed; they are registered in [`registry`] and
//! nowhere else. [`program`] walks one target to its goal, whichever way that is.

mod change_record;
mod file;
mod handler;
mod image;
mod kafka_connect;
mod preview;
mod program;
mod record;
mod registry;
mod scripted;
mod spec;
mod target;
mod web;

use std::sync::Arc;

use async_trait::async_trait;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Kind;
use windrow_jobfile::spec::Spec;
use windrow_model::workload::{Program, Workload};
use windrow_model::{Failure, Json};

use program::Operation;
use spec::OperationSpec;

pub use image::differences;
pub use preview::preview;
pub use record::target_view;
pub use spec::{CAPABILITY, KIND};

pub const FILE_KIND: Kind = Kind { name: KIND, load: file::load, rolls_back: true };

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
        Ok(Arc::new(Operation::thaw(spec, self.environment.of_workspace(workspace)).await?))
    }
}
