//! Remote workers: their sessions in the store, and what they registered with, cached.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tonic::Status;
use windrow_model::SessionId;
use windrow_model::record::{RemoteWorker, Session};
use windrow_wire::grpc::Bad;
use windrow_wire::grpc::v1::RegisterRequest;

use super::status::of_store;
use crate::app::App;
use crate::app::actor::Actor;

const MAX_TEXT: usize = 200;
const MAX_CAPABILITIES: usize = 100;
const MAX_PLACES: u32 = 10_000;

/// The store has it too, so that a restart of the server loses nothing.
#[derive(Default)]
pub struct Registry {
    workers: Mutex<HashMap<SessionId, RemoteWorker>>,
}

impl Registry {
    pub async fn register(&self, app: &App, actor: &Actor, request: RegisterRequest) -> Result<SessionId, Status> {
        check(&request)?;
        let RegisterRequest { name, host, pid, version, capabilities, places } = request;
        let worker =
            RemoteWorker { name, version, capabilities, places: i64::from(places), workspace: actor.workspace.clone() };
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
    pub async fn find(&self, app: &App, actor: &Actor, id: SessionId) -> Result<RemoteWorker, Status> {
        let known = self.workers().get(&id).cloned();
        let found = match known {
            Some(worker) => Some(worker),
            None => {
                let sessions = app.store.sessions().await.map_err(of_store)?;
                sessions.into_iter().find(|session| session.id == id).and_then(|session| session.remote)
            }
        };
        let own = found.filter(|worker| actor.workspace.is_none() || worker.workspace == actor.workspace);
        let worker = own.ok_or_else(|| Status::not_found(format!("session {id} not found; register again")))?;
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
        let why = format!("`capabilities` must have 1 to {MAX_CAPABILITIES} entries");
        return Err(Bad(why));
    }
    if !(1..=MAX_PLACES).contains(&request.places) {
        return Err(Bad(format!("`places` must be 1 to {MAX_PLACES}")));
    }
    Ok(())
}
