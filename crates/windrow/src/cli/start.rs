//! Submitting a run: from a job file, or from what a job is already.

use windrow_engine::{Request, submit as submit_request};
use windrow_model::RunId;
use windrow_model::record::{Job, Run};
use windrow_model::state::Mode;
use windrow_workloads::LoadedJob;

use crate::error::Result;
use crate::wiring::{self, App};

pub fn of_file(file: &LoadedJob, mode: Mode) -> Request {
    Request {
        workspace: file.workspace.clone(),
        name: file.name.clone(),
        kind: file.kind.to_owned(),
        labels: file.labels.clone(),
        mode,
        spec: file.spec.clone(),
        spec_hash: file.spec_hash.clone(),
        priority: file.priority,
        limits: file.limits,
        fresh: false,
        selection: None,
        schedule: file.schedule.clone(),
        idempotency_key: None,
        actor: wiring::actor(),
    }
}

/// With the definition and the limits of an earlier run.
pub async fn of_run(app: &App, job: &Job, run: &Run, mode: Mode) -> Result<Request> {
    Ok(Request {
        workspace: job.workspace.clone(),
        name: job.name.clone(),
        kind: job.kind.clone(),
        labels: job.labels.clone(),
        mode,
        spec: app.store.spec(&run.spec_hash).await?,
        spec_hash: run.spec_hash.clone(),
        priority: run.priority,
        limits: run.limits,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: None,
        actor: wiring::actor(),
    })
}

pub async fn submit(app: &App, request: Request) -> Result<RunId> {
    Ok(submit_request(app.store.as_ref(), request, fastrand::u64(..), app.now()).await?.run)
}
