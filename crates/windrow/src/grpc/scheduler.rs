//! `TriggerEvent` (B2): somebody knows that there is something to do.

use std::sync::Arc;

use tonic::{Request, Response, Status};
use windrow_model::record::{Job, Run};
use windrow_model::store::JobFilter;
use windrow_wire::grpc::v1::scheduler_server::Scheduler;
use windrow_wire::grpc::v1::{RunStanding, TriggerEventRequest, TriggerEventResponse};

use super::caller::operator;
use super::status::{of_error, of_store};
use crate::http::Caller;
use crate::http::Server;

/// Jobs looked through for an event that names none.
const LOOKED_AT: usize = 1000;

pub struct Trigger {
    server: Arc<Server>,
}

impl Trigger {
    pub fn new(server: Arc<Server>) -> Self {
        Self { server }
    }

    async fn meant(&self, caller: &Caller, event: &TriggerEventRequest) -> Result<Vec<(Job, Run)>, Status> {
        let app = &self.server.app;
        if !event.run.is_empty() {
            return Ok(vec![caller.run(app, &event.run).await.map_err(of_error)?]);
        }
        if !event.job.is_empty() {
            return Ok(vec![caller.job(app, &event.job).await.map_err(of_error)?]);
        }
        let filter = JobFilter { workspace: caller.workspace.clone(), limit: LOOKED_AT, ..JobFilter::default() };
        let mut jobs = app.store.jobs(filter).await.map_err(of_store)?;
        jobs.retain(|(_, run)| !run.state.is_final());
        Ok(jobs)
    }
}

#[tonic::async_trait]
impl Scheduler for Trigger {
    async fn trigger_event(
        &self,
        request: Request<TriggerEventRequest>,
    ) -> Result<Response<TriggerEventResponse>, Status> {
        let caller = operator(&request)?;
        let event = request.into_inner();
        let meant = self.meant(&caller, &event).await?;
        tracing::info!(kind = event.kind, job = event.job, run = event.run, runs = meant.len(), "triggered");
        self.server.engine().wake();
        let runs = meant.iter().map(|(job, run)| run_status(job, run)).collect();
        Ok(Response::new(TriggerEventResponse { runs }))
    }
}

fn run_status(job: &Job, run: &Run) -> RunStanding {
    RunStanding {
        run: run.id.to_string(),
        job: job.name.clone(),
        workspace: job.workspace.clone(),
        state: run.state.to_string(),
        queued: run.counters.queued,
        running: run.counters.running,
        settled: run.counters.settled(),
    }
}
