//! The backend of a remote worker: it reaches the store through a server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tonic::{Code, Status};
use windrow_model::limit::Wait;
use windrow_model::record::Step;
use windrow_model::step::ContentKey;
use windrow_model::store::{Receipt, Renewal, Report, Result, StoreError};
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::{Clock, Lease, Time};
use windrow_wire::grpc::{Bad, v1};

use super::link::{Link, within};

const PATIENCE: Duration = Duration::from_secs(20);
/// Reports sent in one message.
const REPORTS: usize = 100;

pub struct ServerBackend {
    link: Link,
    clock: Arc<dyn Clock>,
    /// Replaced when the server has expired the first one.
    session: Mutex<String>,
}

impl ServerBackend {
    pub fn new(link: Link, clock: Arc<dyn Clock>, session: String) -> Self {
        Self { link, clock, session: Mutex::new(session) }
    }

    pub fn session(&self) -> String {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn reattach(&self, session: String) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }
}

#[async_trait]
impl WorkerBackend for ServerBackend {
    async fn history(&self, lease: Lease) -> Result<Vec<Step>> {
        let asked = within(PATIENCE, v1::GetHistoryRequest { lease: Some(lease.into()) });
        let steps = self.link.client().get_history(asked).await.map_err(fault)?.into_inner().steps;
        steps.into_iter().map(|step| step.try_into().map_err(strange)).collect()
    }

    async fn shared_step(&self, lease: Lease, key: ContentKey) -> Result<Option<Step>> {
        let asked = within(PATIENCE, v1::FindSharedRequest { lease: Some(lease.into()), key: key.0.to_vec() });
        let found = self.link.client().find_shared(asked).await.map_err(fault)?.into_inner().step;
        found.map(|step| step.try_into().map_err(strange)).transpose()
    }

    async fn renew(&self, leases: Vec<Lease>, _now: Time) -> Result<Vec<Renewal>> {
        let ids = leases.iter().map(|lease| (*lease).into()).collect();
        let asked = within(PATIENCE, v1::HeartbeatRequest { session: self.session(), leases: ids });
        let standing = self.link.client().heartbeat(asked).await.map_err(fault)?.into_inner().leases;
        Ok(leases.into_iter().zip(standing).map(|(lease, standing)| standing.of(lease)).collect())
    }

    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>> {
        let mut receipts = Vec::with_capacity(reports.len());
        for some in reports.chunks(REPORTS) {
            let some: Vec<_> = some.iter().map(|report| v1::ItemReport::of(report.clone(), now)).collect();
            let asked = within(PATIENCE, v1::ReportRequest { reports: some });
            let answer = self.link.client().report(asked).await.map_err(fault)?.into_inner();
            for receipt in answer.receipts() {
                receipts.push(receipt.try_into().map_err(strange)?);
            }
        }
        Ok(receipts)
    }

    async fn stop_run(&self, lease: Lease, reason: &str, _now: Time) -> Result<()> {
        let asked = within(PATIENCE, v1::StopRunRequest { lease: Some(lease.into()), reason: reason.to_owned() });
        self.link.client().stop_run(asked).await.map_err(fault).map(|_| ())
    }

    async fn note_waits(&self, waits: Vec<Wait>) -> Result<()> {
        let now = self.clock.now();
        let waits = waits.iter().map(|wait| v1::Wait::of(wait, now)).collect();
        let asked = within(PATIENCE, v1::NoteWaitsRequest { session: self.session(), waits });
        self.link.client().note_waits(asked).await.map_err(fault).map(|_| ())
    }
}

/// An unreachable server may come back; a report that it cannot read will never be readable.
pub fn fault(status: Status) -> StoreError {
    match status.code() {
        Code::NotFound => StoreError::NotFound { what: "session", id: status.message().to_owned() },
        Code::InvalidArgument | Code::FailedPrecondition | Code::Unimplemented | Code::OutOfRange => {
            StoreError::Corrupt(format!("server error {}: {}", status.code(), status.message()))
        }
        code => StoreError::Unavailable(format!("{code}: {}", status.message())),
    }
}

fn strange(bad: Bad) -> StoreError {
    StoreError::Corrupt(format!("invalid response of the server: {bad}"))
}
