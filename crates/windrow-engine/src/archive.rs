//! Step 8: handed-in attempts become the snapshot. They are found by scanning the store, not by a message: a worker and
//! its coordinator may die independently (E2).

use std::sync::Arc;

use windrow_model::store::{Archived, StoreError};

use crate::node::{Node, OwnedRun};

pub async fn archive(node: &Arc<Node>, owned_run: &Arc<OwnedRun>) -> Result<Archived, StoreError> {
    let archived = node.store.archive(owned_run.ticket, node.settings.batch, node.now()).await?;
    node.workers.meters.archived(&archived);
    Ok(archived)
}
