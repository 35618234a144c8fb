//! Plans of ingest.

use windrow_wire::Lineage;

use super::Desk;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::find;
use crate::ingest::{self, Wish};
use crate::wiring::App;

impl Desk {
    /// The folder itself: checkpoints are in a destination that only this machine may be able to reach.
    pub fn here(&self, what: &str) -> Result<&App> {
        match self {
            Desk::Folder(app) => Ok(app),
            Desk::Server(_) => {
                let remedy = "leave out `--server`, or unset WINDROW_SERVER";
                Err(Error::new(format!("`windrow {what}` works on this machine only"), remedy).ending_with(Exit::Usage))
            }
        }
    }

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
