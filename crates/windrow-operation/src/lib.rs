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
mod mask;
mod own_worker;
mod preview;
mod program;
mod record;
mod registry;
mod scripted;
mod spec;
mod target;
mod target_source;
mod veil;
mod web;

use std::sync::Arc;

use async_trait::async_trait;
use windrow_jobfile::dataset::{Library, RowList, Staging};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Kind;
use windrow_jobfile::spec::Spec;
use windrow_model::step::ContentKey;
use windrow_model::workload::{Program, Workload};
use windrow_model::{Failure, Json};

use program::Operation;
use spec::{OperationSpec, Targets};
use target_source::TargetSource;

pub use image::differences;
pub use preview::preview;
pub use record::{target_labels, target_view};
pub use spec::{CAPABILITY, KIND};

pub const FILE_KIND: Kind = Kind { name: KIND, load: file::load, rolls_back: true };

/// The same definition, to be rolled back also where a target has changed since, or not.
pub fn forced(spec: &Json, force: bool) -> Result<(Json, String), serde_json::Error> {
    let mut spec: OperationSpec = spec.parse()?;
    spec.force = force;
    Ok(spec.freeze())
}

/// Says why, where what the operation does has no inverse.
pub fn irreversible(spec: &Json) -> Option<&'static str> {
    registry::irreversible(&spec.parse::<OperationSpec>().ok()?.action)
}

/// Whether a worker of the user's own changes the targets, and notices itself what somebody else has changed.
pub fn is_by_own_worker(spec: &Json) -> bool {
    spec.parse::<OperationSpec>().is_ok_and(|spec| spec.action.kind == own_worker::KIND)
}

/// The key of the target with this name.
pub fn target_key(name: &str) -> ContentKey {
    target::Target::named(name).key()
}

/// The rows its targets are kept in; `None` where the definition itself has them.
pub fn target_list(spec: &Json) -> Option<RowList> {
    match spec.parse::<OperationSpec>().ok()?.targets {
        Targets::Stored(list) => Some(list),
        Targets::Inline(_) => None,
    }
}

/// The same definition with its targets kept in another list.
pub fn with_target_list(spec: &Json, list: RowList) -> Result<(Json, String), serde_json::Error> {
    let spec: OperationSpec = spec.parse()?;
    Ok(OperationSpec { targets: Targets::Stored(list), ..spec }.freeze())
}

/// The hash a definition of an earlier version, which has its targets in it, would have today.
pub fn hash_today(spec: &Json, job: &str) -> Option<String> {
    let mut spec: OperationSpec = spec.parse().ok()?;
    if let Targets::Inline(targets) = &spec.targets {
        let mut staging = Staging::new().ok()?;
        targets.iter().try_for_each(|target| staging.push(&target.value())).ok()?;
        spec.targets = Targets::Stored(staging.finish(job).ok()?.list);
    }
    Some(spec.freeze().1)
}

pub struct OperationWorkload {
    environment: Environment,
    library: Option<Library>,
}

impl OperationWorkload {
    pub fn new(environment: Environment) -> Self {
        Self { environment, library: None }
    }

    /// With the rows that targets are kept in; a worker elsewhere plans nothing and needs none.
    pub fn with_library(self, library: Library) -> Self {
        Self { library: Some(library), ..self }
    }
}

#[async_trait]
impl Workload for OperationWorkload {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn prepare(&self, workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let list = |targets| TargetSource::new(targets, workspace, self.library.clone());
        Ok(Arc::new(Operation::thaw(spec, self.environment.of_workspace(workspace), list).await?))
    }
}
