//! `kind: ingest`: pulls records from a source into a destination, slice by slice and page by page.
//!
//! A plan is the job, a slice and its task an item, a task run an attempt, a batch a step. The checkpoint
//! is the newest entry of the ledger that the destination keeps in the same transaction as the data, so
//! that whoever goes on begins exactly behind what is committed. [`program`] walks one slice.

mod batch;
mod column;
mod destination;
mod file;
mod ledger;
mod meters;
mod program;
mod range;
mod record;
mod replay;
mod slicing;
mod source;
mod spec;
mod sql;

use std::sync::Arc;

use async_trait::async_trait;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Kind;
use windrow_jobfile::spec::{Spec, prepare_blocking};
use windrow_model::workload::{Program, Workload};
use windrow_model::{Failure, Json};

use program::Ingest;
use spec::IngestSpec;

pub use ledger::{By, Edit, Ledger, Unchanged, origin_of};
pub use meters::{METRICS, announce};
pub use program::BATCH;
pub use range::{Range, WrongRange, range_of};
pub use record::PutAside;
pub use replay::{Letter, RejectedRecords, Replayed, can_replay};
pub use spec::KIND;

pub const FILE_KIND: Kind = Kind { name: KIND, load: file::load, rolls_back: false };

pub struct IngestWorkload {
    environment: Environment,
}

impl IngestWorkload {
    pub fn new(environment: Environment) -> Self {
        Self { environment }
    }
}

#[async_trait]
impl Workload for IngestWorkload {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn prepare(&self, workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let (spec, environment) = (IngestSpec::thaw(spec)?, self.environment.of_workspace(workspace));
        Ok(Arc::new(prepare_blocking(move || Ingest::prepare(spec, &environment)).await?))
    }
}
