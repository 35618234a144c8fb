//! Who calls: identified by the same layer as for HTTP, with the same rules.

use tonic::{Request, Status};
use windrow_model::RunId;
use windrow_model::access::Role;

use super::status::of_error;
use crate::app::actor::Actor;
use crate::app::{App, Running, lookup};

/// A caller that may run workers and wake the scheduler.
pub fn operator<T>(request: &Request<T>) -> Result<Actor, Status> {
    let actor = request.extensions().get::<Actor>().cloned();
    let actor = actor.ok_or_else(|| Status::unauthenticated("request has no caller (bug)"))?;
    actor.check_role(Role::Operator).map_err(of_error)?;
    Ok(actor)
}

/// Rejects a run that the actor does not see.
pub async fn own(app: &App, running: &Running, actor: &Actor, run: RunId) -> Result<(), Status> {
    match &actor.workspace {
        None => Ok(()),
        Some(workspace) if running.engine.workspace_of(run).as_ref() == Some(workspace) => Ok(()),
        Some(_) => lookup::run(app, actor, &run.to_string()).await.map(|_| ()).map_err(of_error),
    }
}
