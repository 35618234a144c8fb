//! Step 8: what workers handed in becomes the snapshot. Found by scanning the store, never by a
//! message: a worker and its coordinator may die independently (E2).

use std::sync::Arc;

use windrow_model::store::{Archived, StoreError};

use crate::node::{Course, Node};

pub async fn archive(node: &Arc<Node>, course: &Arc<Course>) -> Result<Archived, StoreError> {
    let archived = node.store.archive(course.ticket, node.settings.batch, node.now()).await?;
    node.meters.archived(&archived);
    Ok(archived)
}
