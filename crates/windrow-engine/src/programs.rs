//! The program of a run, made from its frozen definition. A run whose program cannot be made fails.

use std::sync::Arc;

use async_trait::async_trait;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::record::{Job, Run};
use windrow_model::retry::RetryPolicy;
use windrow_model::state::RunEvent;
use windrow_model::store::{Held, StoreError};
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, WorkItem};
use windrow_model::{Json, RunId};

use crate::node::Node;

/// The program of a run to coordinate. Without one the run fails; [`NoProgram`] lets it be closed.
pub async fn prepare(node: &Node, held: &Held) -> Result<(Arc<Job>, Arc<dyn Program>), StoreError> {
    let (job, program) = program_of(node, &held.run).await?;
    match program {
        Ok(program) => Ok((job, program)),
        Err(failure) => {
            if !held.run.state.is_stopping() {
                fail_run(node, held.run.id, &failure).await?;
            }
            Ok((job, Arc::new(NoProgram::default())))
        }
    }
}

/// The program of any run, whichever node coordinates it.
pub async fn program_of(node: &Node, run: &Run) -> Result<(Arc<Job>, Result<Arc<dyn Program>, Failure>), StoreError> {
    let job = Arc::new(node.store.job(run.job).await?);
    let spec = node.store.spec(&run.spec_hash).await?;
    let program = match node.workloads.get(job.kind.as_str()) {
        Some(workload) => workload.prepare(&job.workspace, &spec).await,
        None => {
            let kinds: Vec<&str> = node.workloads.keys().copied().collect();
            let text = format!("unknown kind {:?}; this node supports {}", job.kind, kinds.join(", "));
            Err(Failure::new(ErrorClass::Handler, text))
        }
    };
    Ok((job, program))
}

pub async fn fail_run(node: &Node, run: RunId, failure: &Failure) -> Result<(), StoreError> {
    let reason = failure.to_string();
    tracing::error!(%run, %reason, "run failed");
    node.store.request_transition(run, RunEvent::Fail, "system", Some(&reason), node.now()).await.map(|_| ())
}

/// Program of a run that will execute nothing more.
#[derive(Default)]
struct NoProgram {
    policy: RetryPolicy,
}

#[async_trait]
impl Program for NoProgram {
    async fn page(&self, _: Option<&Json>, _: usize) -> Result<SourcePage, Failure> {
        Err(unprepared())
    }
    async fn execute(&self, _: &WorkItem, _: &dyn Journal) -> Result<Done, Halt> {
        Err(unprepared().into())
    }
    fn retry_policy(&self) -> &RetryPolicy {
        &self.policy
    }
    fn timeout_ms(&self) -> i64 {
        1
    }
}

fn unprepared() -> Failure {
    Failure::new(ErrorClass::Handler, "the run's definition could not be prepared")
}
