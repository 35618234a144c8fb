//! The protocol of remote workers. Every call about an item names its lease, and the store checks it in the transaction
//! that writes; no state here has to survive a restart.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};
use windrow_engine::{Engine, LeasedItem, ReportedEnding, StepDecision, WorkerReport};
use windrow_model::record::RemoteWorker;
use windrow_model::store::Store;
use windrow_model::{Lease, SessionId};
use windrow_wire::grpc::v1::worker_server::Worker;
use windrow_wire::grpc::{Bad, Told, key, lease, step_number, v1};

use super::caller::{operator, own};
use super::register::Registry;
use super::status::{of_refusal, of_store};
use crate::app::actor::Actor;
use crate::app::{App, Running};

/// The longest a worker may wait for items in one call; shorter than the timeout of HTTP.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Items handed out in one call.
const MOST: usize = 1000;

type Answer<T> = Result<Response<T>, Status>;

pub struct Workers {
    app: App,
    running: Arc<Running>,
    registry: Registry,
}

impl Workers {
    pub fn new(app: App, running: Arc<Running>) -> Self {
        Self { app, running, registry: Registry::default() }
    }

    fn engine(&self) -> &Engine {
        &self.running.engine
    }

    fn store(&self) -> &dyn Store {
        &*self.app.store
    }

    /// A lease of a run that the caller sees.
    async fn own_lease(&self, actor: &Actor, id: Option<v1::LeaseId>) -> Result<Lease, Status> {
        let lease = lease(id)?;
        own(&self.app, &self.running, actor, lease.run).await?;
        Ok(lease)
    }

    /// A heartbeat of a session that has not ended.
    async fn beat(&self, actor: &Actor, session: &str) -> Result<(SessionId, RemoteWorker), Status> {
        let id = session_id(session)?;
        let worker = self.registry.find(&self.app, actor, id).await?;
        let beat = self.store().beat(id, self.engine().lease_ms(), self.app.now()).await;
        if beat.is_err() {
            self.registry.forget(id);
        }
        beat.map_err(of_store)?;
        Ok((id, worker))
    }
}

#[tonic::async_trait]
impl Worker for Workers {
    async fn register(&self, request: Request<v1::RegisterRequest>) -> Answer<v1::RegisterResponse> {
        let actor = operator(&request)?;
        let request = request.into_inner();
        tracing::info!(name = request.name, host = request.host, capabilities = ?request.capabilities, "worker registered");
        let session = self.registry.register(&self.app, &actor, request).await?;
        Ok(Response::new(v1::RegisterResponse {
            session: session.to_string(),
            lease_ms: self.engine().lease_ms(),
            beat_ms: self.engine().beat_ms(),
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
        }))
    }

    async fn lease(&self, request: Request<v1::LeaseRequest>) -> Answer<v1::LeaseResponse> {
        let actor = operator(&request)?;
        let v1::LeaseRequest { session, want, wait_ms } = request.into_inner();
        let (session, worker) = self.beat(&actor, &session).await?;
        let patience = Duration::from_millis(wait_ms.max(0) as u64).min(LONGEST_WAIT);
        let offers = self.engine().lease(session, &worker, (want as usize).min(MOST), patience).await;
        let items = offers.map_err(of_store)?.into_iter().map(item).collect();
        Ok(Response::new(v1::LeaseResponse { items }))
    }

    async fn heartbeat(&self, request: Request<v1::HeartbeatRequest>) -> Answer<v1::HeartbeatResponse> {
        let actor = operator(&request)?;
        let v1::HeartbeatRequest { session, leases } = request.into_inner();
        let leases = leases.into_iter().map(Lease::try_from).collect::<Result<Vec<_>, Bad>>()?;
        self.beat(&actor, &session).await?;
        for lease in &leases {
            own(&self.app, &self.running, &actor, lease.run).await?;
        }
        let renewed = self.store().renew(leases, self.engine().lease_ms(), self.app.now()).await;
        let leases = renewed.map_err(of_store)?.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::HeartbeatResponse { leases }))
    }

    async fn get_definition(&self, request: Request<v1::GetDefinitionRequest>) -> Answer<v1::GetDefinitionResponse> {
        operator(&request)?;
        let spec = self.store().spec(&request.into_inner().definition).await.map_err(of_store)?;
        Ok(Response::new(v1::GetDefinitionResponse { definition_json: spec.as_str().to_owned() }))
    }

    async fn begin_step(&self, request: Request<v1::BeginStepRequest>) -> Answer<v1::BeginStepResponse> {
        let actor = operator(&request)?;
        use v1::begin_step_response::Answer as Wire;
        let v1::BeginStepRequest { lease: id, no, intent } = request.into_inner();
        let intent = intent.ok_or_else(|| Bad("`intent` is missing".to_owned()))?;
        let intent: windrow_model::step::StepIntent = intent.try_into()?;
        let idempotency_key = intent.key.to_string();
        let lease = self.own_lease(&actor, id).await?;
        let begun = self.engine().begin_step(lease, step_number(no)?, intent).await.map_err(of_store)?;
        let answer = match begun {
            StepDecision::Execute => Wire::GoOn(v1::GoOn { idempotency_key }),
            StepDecision::Reuse { output, usage } => {
                Wire::Recalled(v1::Recalled { output_json: output.as_str().to_owned(), usage: Some(usage.into()) })
            }
            StepDecision::Unknown(policy) => {
                Wire::Unknown(v1::Unknown { on_unknown: v1::OnUnknown::from(policy).into() })
            }
            StepDecision::Rejected(receipt) => Wire::Refused(v1::Receipt::from(receipt).into()),
            StepDecision::NotInRescore => {
                let why = "a rescore never calls the target, and this response is not recorded";
                return Err(Status::failed_precondition(why));
            }
        };
        Ok(Response::new(v1::BeginStepResponse { answer: Some(answer) }))
    }

    async fn report(&self, request: Request<v1::ReportRequest>) -> Answer<v1::ReportResponse> {
        let actor = operator(&request)?;
        let now = self.app.now();
        let told = request.into_inner().reports.into_iter().map(|report| report.read(now));
        let words = told.map(|told| told.map(worker_report)).collect::<Result<Vec<_>, Bad>>()?;
        for word in &words {
            own(&self.app, &self.running, &actor, word.lease.run).await?;
        }
        let receipts = self.engine().accept_reports(words).await.map_err(of_refusal)?;
        let receipts = receipts.into_iter().map(|receipt| v1::Receipt::from(receipt).into()).collect();
        Ok(Response::new(v1::ReportResponse { receipts }))
    }

    async fn get_history(&self, request: Request<v1::GetHistoryRequest>) -> Answer<v1::GetHistoryResponse> {
        let actor = operator(&request)?;
        let lease = self.own_lease(&actor, request.into_inner().lease).await?;
        let steps = self.store().history(lease.attempt).await.map_err(of_store)?;
        Ok(Response::new(v1::GetHistoryResponse { steps: steps.into_iter().map(Into::into).collect() }))
    }

    async fn find_shared(&self, request: Request<v1::FindSharedRequest>) -> Answer<v1::FindSharedResponse> {
        let actor = operator(&request)?;
        let v1::FindSharedRequest { lease: id, key: wanted } = request.into_inner();
        let lease = self.own_lease(&actor, id).await?;
        let found = self.store().shared_step(lease.run, key(&wanted)?).await.map_err(of_store)?;
        Ok(Response::new(v1::FindSharedResponse { step: found.map(Into::into) }))
    }

    async fn stop_run(&self, request: Request<v1::StopRunRequest>) -> Answer<v1::StopRunResponse> {
        let actor = operator(&request)?;
        let v1::StopRunRequest { lease: id, reason } = request.into_inner();
        let lease = self.own_lease(&actor, id).await?;
        self.engine().stop_run(lease, &reason).await.map_err(of_store)?;
        Ok(Response::new(v1::StopRunResponse {}))
    }

    async fn note_waits(&self, request: Request<v1::NoteWaitsRequest>) -> Answer<v1::NoteWaitsResponse> {
        let actor = operator(&request)?;
        let v1::NoteWaitsRequest { session, waits } = request.into_inner();
        let now = self.app.now();
        let waits = waits.into_iter().map(|wait| wait.read(now)).collect::<Result<Vec<_>, Bad>>()?;
        let (session, _) = self.beat(&actor, &session).await?;
        self.store().note_waits(session, waits).await.map_err(of_store)?;
        Ok(Response::new(v1::NoteWaitsResponse {}))
    }

    async fn goodbye(&self, request: Request<v1::GoodbyeRequest>) -> Answer<v1::GoodbyeResponse> {
        let actor = operator(&request)?;
        let id = session_id(&request.into_inner().session)?;
        // Only a session of this protocol: a process with the store open ends its own.
        self.registry.find(&self.app, &actor, id).await?;
        self.store().expire_session(id, self.app.now()).await.map_err(of_store)?;
        self.registry.forget(id);
        // Its items can be claimed at once.
        self.engine().wake();
        Ok(Response::new(v1::GoodbyeResponse {}))
    }
}

fn session_id(text: &str) -> Result<SessionId, Status> {
    text.parse().map_err(|error| Bad(format!("`session`: {error}")).into())
}

fn item(leased: LeasedItem) -> v1::Item {
    let LeasedItem { claimed, job, spec_hash, mode, fresh, timeout_ms, next_step, unproven } = leased;
    v1::Item {
        workspace: job.workspace.clone(),
        job: job.name.clone(),
        kind: job.kind.clone(),
        definition: spec_hash,
        mode: mode.to_string(),
        fresh,
        timeout_ms,
        next_step,
        unproven,
        ..claimed.into()
    }
}

fn worker_report(told: Told) -> WorkerReport {
    let Told { lease, steps, ending } = told;
    WorkerReport { lease, steps, ending: ending.map_or_else(ReportedEnding::Failed, ReportedEnding::Ending) }
}
