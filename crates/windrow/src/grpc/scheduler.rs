//! `TriggerEvent` (B2): a client tells the scheduler to look for work.

use std::sync::Arc;

use tonic::{Request, Response, Status};
use windrow_model::record::{Job, Run};
use windrow_model::store::JobFilter;
use windrow_wire::grpc::v1::scheduler_server::Scheduler;
use windrow_wire::grpc::v1::{RunStanding, TriggerEventRequest, TriggerEventResponse};

use super::caller::operator;
use super::status::{of_error, of_store};
use crate::app::actor::Actor;
use crate::app::{App, Running, lookup};

/// Jobs returned for an event that names none.
const LOOKED_AT: usize = 1000;

pub struct Trigger {
    app: App,
    running: Arc<Running>,
}

impl Trigger {
    pub fn new(app: App, running: Arc<Running>) -> Self {
        Self { app, running }
    }

    async fn meant(&self, actor: &Actor, event: &TriggerEventRequest) -> Result<Vec<(Job, Run)>, Status> {
        let app = &self.app;
        if !event.run.is_empty() {
            return Ok(vec![lookup::run(app, actor, &event.run).await.map_err(of_error)?]);
        }
        if !event.job.is_empty() {
            return Ok(vec![lookup::job(app, actor, &event.job).await.map_err(of_error)?]);
        }
        let filter = JobFilter { workspace: actor.workspace.clone(), limit: LOOKED_AT, ..JobFilter::default() };
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
        let actor = operator(&request)?;
        let event = request.into_inner();
        let meant = self.meant(&actor, &event).await?;
        tracing::info!(kind = event.kind, job = event.job, run = event.run, runs = meant.len(), "triggered");
        self.running.engine.wake();
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
