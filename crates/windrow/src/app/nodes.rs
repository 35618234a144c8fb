//! The server processes that share the data.

use windrow_model::SessionId;
use windrow_wire::NodeList;

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::Result;

pub async fn list(app: &App, actor: &Actor) -> Result<NodeList> {
    actor.check_all_workspaces()?;
    let sessions = app.store.sessions().await?;
    Ok(NodeList::of(&sessions, app.lease_ms(), app.now()))
}

/// The node finishes its running items, hands its runs to other nodes and ends.
pub async fn drain(app: &App, change: &Change, node: SessionId) -> Result<NodeList> {
    change.actor.check_all_workspaces()?;
    app.store.drain(node).await?;
    list(app, &change.actor).await
}
