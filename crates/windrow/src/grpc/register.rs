//! Who a worker elsewhere is: its session in the store, and what it said of itself kept at hand.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tonic::Status;
use windrow_model::SessionId;
use windrow_model::record::{RemoteWorker, Session};
use windrow_wire::grpc::Bad;
use windrow_wire::grpc::v1::RegisterRequest;

use super::status::of_store;
use crate::app::wiring::App;
use crate::http::Caller;

const MAX_TEXT: usize = 200;
const MAX_CAPABILITIES: usize = 100;
const MAX_PLACES: u32 = 10_000;

/// What the store knows too, so that a restart of the server loses nothing.
#[derive(Default)]
pub struct Roll {
    workers: Mutex<HashMap<SessionId, RemoteWorker>>,
}

impl Roll {
    pub async fn enter(&self, app: &App, caller: &Caller, request: RegisterRequest) -> Result<SessionId, Status> {
        check(&request)?;
        let RegisterRequest { name, host, pid, version, capabilities, places } = request;
        let worker = RemoteWorker {
            name,
            version,
            capabilities,
            places: i64::from(places),
            workspace: caller.workspace.clone(),
        };
        let now = app.now();
        let id = SessionId::mint(now, fastrand::u64(..));
        let session = Session {
            id,
            host,
            pid,
            regions: Vec::new(),
            node: None,
            remote: Some(worker.clone()),
            at_work: 0,
            started_at: now,
            beat_at: now,
            ended_at: None,
        };
        app.store.open_session(session).await.map_err(of_store)?;
        self.workers().insert(id, worker);
        Ok(id)
    }

    /// The worker of a session that has not ended, if it is the caller's.
    pub async fn find(&self, app: &App, caller: &Caller, id: SessionId) -> Result<RemoteWorker, Status> {
        let known = self.workers().get(&id).cloned();
        let found = match known {
            Some(worker) => Some(worker),
            None => {
                let sessions = app.store.sessions().await.map_err(of_store)?;
                sessions.into_iter().find(|session| session.id == id).and_then(|session| session.remote)
            }
        };
        let own = found.filter(|worker| caller.workspace.is_none() || worker.workspace == caller.workspace);
        let worker = own.ok_or_else(|| Status::not_found(format!("there is no session {id}; register again")))?;
        self.workers().insert(id, worker.clone());
        Ok(worker)
    }

    pub fn forget(&self, id: SessionId) {
        self.workers().remove(&id);
    }

    fn workers(&self) -> MutexGuard<'_, HashMap<SessionId, RemoteWorker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(request: &RegisterRequest) -> Result<(), Bad> {
    let texts = [("name", &request.name), ("host", &request.host), ("version", &request.version)];
    let texts = texts.into_iter().chain(request.capabilities.iter().map(|text| ("capabilities", text)));
    for (field, text) in texts {
        if text.chars().count() > MAX_TEXT || text.chars().any(char::is_control) {
            return Err(Bad(format!("`{field}` must be at most {MAX_TEXT} characters on one line")));
        }
    }
    if request.capabilities.is_empty() || request.capabilities.len() > MAX_CAPABILITIES {
        let why = format!("`capabilities` must name 1 to {MAX_CAPABILITIES} things this worker is able to do");
        return Err(Bad(why));
    }
    if !(1..=MAX_PLACES).contains(&request.places) {
        return Err(Bad(format!("`places` is {}, but must be 1 to {MAX_PLACES}", request.places)));
    }
    Ok(())
}
