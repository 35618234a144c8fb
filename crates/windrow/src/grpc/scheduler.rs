//! `TriggerEvent` (B2, B14): a client tells the scheduler to look for work, or brings the batch to create.

use std::sync::Arc;

use tonic::{Request, Response, Status};
use windrow_model::JobId;
use windrow_model::record::{Job, Run};
use windrow_model::store::JobFilter;
use windrow_wire::grpc::v1::scheduler_server::Scheduler;
use windrow_wire::grpc::v1::{EventType, RunStanding, TriggerEventRequest, TriggerEventResponse};
use windrow_wire::request::{BatchRequest, Submit};

use super::caller::operator;
use super::status::{of_error, of_store};
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::{App, Running, batches, lookup, resolve_run};

/// Jobs returned for an event that names none.
const LOOKED_AT: usize = 1000;
/// As over HTTP.
const LONGEST_KEY: usize = 255;

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
        let batch = (event.batch_id != 0).then(|| JobId(event.batch_id).to_string());
        if let Some(job) = batch.as_ref().or(Some(&event.job).filter(|job| !job.is_empty())) {
            return Ok(vec![lookup::job(app, actor, job).await.map_err(of_error)?]);
        }
        let filter = JobFilter { workspace: actor.workspace.clone(), limit: LOOKED_AT, ..JobFilter::default() };
        let mut jobs = app.store.jobs(filter).await.map_err(of_store)?;
        jobs.retain(|(_, run)| !run.state.is_final());
        Ok(jobs)
    }

    /// Creates the batch that came with the event.
    async fn create(&self, change: &Change, batch: Batch, key: Option<String>) -> Result<(Job, Run), Status> {
        let (app, running) = (&self.app, &*self.running);
        let submitted = match batch {
            Batch::Request(request) => batches::create(app, change, *request, key, running).await,
            Batch::File(file) => resolve_run::submit(app, change, Submit::of(file), key, running).await,
        };
        let run = submitted.map_err(of_error)?.run;
        lookup::run(app, &change.actor, &run).await.map_err(of_error)
    }
}

/// A batch to create.
#[derive(Debug)]
enum Batch {
    Request(Box<BatchRequest>),
    File(String),
}

impl Batch {
    /// `None` for an event that creates nothing.
    fn of(event: &TriggerEventRequest) -> Result<Option<Self>, Status> {
        let TriggerEventRequest { kind: _, job, run, event_type, req_data, job_data, batch_id } = event;
        let creates = match EventType::try_from(*event_type) {
            Ok(EventType::CreateBatch) => true,
            Ok(EventType::Unspecified) => false,
            Err(_) => return Err(Status::invalid_argument(format!("event_type {event_type} is not known"))),
        };
        let names = [!job.is_empty(), !run.is_empty(), *batch_id != 0].into_iter().filter(|given| *given).count();
        let brings = [req_data, job_data].into_iter().filter(|data| !data.is_empty()).count();
        match (creates, brings, names) {
            (false, 1.., _) => Err(Status::invalid_argument("req_data and job_data go with EVENT_TYPE_CREATE_BATCH")),
            (_, _, 2..) => Err(Status::invalid_argument("give one of batch_id, job and run")),
            (true, 0, 0) | (true, 2.., _) | (true, 1, 1..) => {
                let message = "EVENT_TYPE_CREATE_BATCH takes one of req_data, job_data, batch_id, job and run";
                Err(Status::invalid_argument(message))
            }
            (_, 0, _) => Ok(None),
            (true, 1, _) if req_data.is_empty() => match String::from_utf8(job_data.clone()) {
                Ok(file) => Ok(Some(Self::File(file))),
                Err(_) => Err(Status::invalid_argument("job_data is not UTF-8 text")),
            },
            (true, 1, _) => match serde_json::from_slice(req_data) {
                Ok(request) => Ok(Some(Self::Request(Box::new(request)))),
                Err(error) => Err(Status::invalid_argument(format!("req_data: {error}"))),
            },
        }
    }
}

#[tonic::async_trait]
impl Scheduler for Trigger {
    async fn trigger_event(
        &self,
        request: Request<TriggerEventRequest>,
    ) -> Result<Response<TriggerEventResponse>, Status> {
        let actor = operator(&request)?;
        let key = key_of(&request)?;
        let change = request.extensions().get::<Change>().cloned();
        let event = request.into_inner();
        let meant = match Batch::of(&event)? {
            None if key.is_some() => {
                return Err(Status::invalid_argument("idempotency-key goes with a batch to create"));
            }
            None => self.meant(&actor, &event).await?,
            Some(batch) => {
                let change = change.ok_or_else(|| Status::internal("change is not on the audit log (bug)"))?;
                vec![self.create(&change, batch, key).await?]
            }
        };
        tracing::info!(kind = event.kind, job = event.job, run = event.run, runs = meant.len(), "triggered");
        self.running.engine.wake();
        let runs = meant.iter().map(|(job, run)| run_status(job, run)).collect();
        Ok(Response::new(TriggerEventResponse { runs }))
    }
}

fn key_of<T>(request: &Request<T>) -> Result<Option<String>, Status> {
    let Some(key) = request.metadata().get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=LONGEST_KEY).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(Status::invalid_argument(format!("idempotency-key has 1 to {LONGEST_KEY} visible ASCII characters"))),
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
        batch_id: job.id.0,
    }
}
