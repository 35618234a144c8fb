//! Plans of ingest.

use windrow_wire::Lineage;

use super::Desk;
use crate::error::Result;
use crate::find;
use crate::ingest::{self, Wish};

impl Desk {
    /// Of a run, named as `JOB`, `JOB#3` or by its id.
    pub async fn lineage(&self, run: &str, wish: Wish) -> Result<Lineage> {
        match self {
            Desk::Folder(app) => {
                let (job, run) = find::run(app, run).await?;
                ingest::lineage(app, &job, &run, wish).await
            }
            Desk::Server(remote) => {
                let query =
                    (("slice", &wish.slice), ("after", wish.after), ("limit", wish.limit), ("batches", wish.batches));
                remote.get(&["runs", run, "lineage"], &query).await
            }
        }
    }
}
