//! Who calls: found out by the same layer as for HTTP, and held to the same rules. What is in another
//! workspace does not exist.

use tonic::{Request, Status};
use windrow_model::RunId;
use windrow_model::access::Role;

use super::status::of_error;
use crate::http::Caller;
use crate::http::Server;

/// A caller that may run workers and wake the scheduler.
pub fn operator<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().cloned();
    let caller = caller.ok_or_else(|| Status::unauthenticated("the call came in without anybody who asks"))?;
    if !caller.role.may(Role::Operator) {
        let why = format!("this takes the role {}, and the key has the role {}", Role::Operator, caller.role);
        return Err(Status::permission_denied(why));
    }
    Ok(caller)
}

/// Whether the run is one of the caller's.
pub async fn own(server: &Server, caller: &Caller, run: RunId) -> Result<(), Status> {
    match &caller.workspace {
        None => Ok(()),
        Some(workspace) if server.engine().workspace_of(run).as_ref() == Some(workspace) => Ok(()),
        Some(_) => caller.run(&server.app, &run.to_string()).await.map(|_| ()).map_err(of_error),
    }
}
