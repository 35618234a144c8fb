//! Plans of ingest.

use windrow_wire::request::{Backfill, EditCheckpoint, RestoreCheckpoint};
use windrow_wire::{CheckpointList, CheckpointView, Lineage, Submitted};

use crate::app::error::Result;
use crate::app::ingest::{self, Wish};
use crate::app::lookup;
use crate::app::submit;
use crate::app::wiring;
use crate::client::api::Api;

impl Api {
    /// Of a run, named as `JOB`, `JOB#3` or by its id.
    pub async fn lineage(&self, run: &str, wish: Wish) -> Result<Lineage> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::run(app, run).await?;
                ingest::lineage(app, &job, &run, wish).await
            }
            Api::Remote(remote) => {
                let query =
                    (("slice", &wish.slice), ("after", wish.after), ("limit", wish.limit), ("batches", wish.batches));
                remote.get(&["runs", run, "lineage"], &query).await
            }
        }
    }

    /// Below a version if one is given, newest first.
    pub async fn checkpoints(
        &self,
        job: &str,
        slice: &str,
        below: Option<i64>,
        limit: usize,
    ) -> Result<CheckpointList> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                ingest::checkpoints(app, &job, &run, slice, below, limit).await
            }
            Api::Remote(remote) => {
                let query = (("slice", slice), ("below", below), ("limit", limit));
                remote.get(&["jobs", job, "checkpoints"], &query).await
            }
        }
    }

    pub async fn restore_checkpoint(&self, job: &str, wish: RestoreCheckpoint) -> Result<CheckpointView> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                ingest::restore(app, &job, &run, wish, &wiring::actor()).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "checkpoints", "restore"], &wish).await,
        }
    }

    pub async fn edit_checkpoint(&self, job: &str, wish: EditCheckpoint) -> Result<CheckpointView> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                ingest::edit(app, &job, &run, wish, &wiring::actor()).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "checkpoints", "edit"], &wish).await,
        }
    }

    /// Starts a run that reads slices again; returns its id.
    pub async fn backfill(&self, job: &str, wish: Backfill) -> Result<String> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                let request = ingest::backfill(app, &job, &latest, &wish).await?;
                Ok(submit::submit(app, request).await?.to_string())
            }
            Api::Remote(remote) => Ok(remote.post::<Submitted>(&["jobs", job, "backfill"], &wish).await?.run),
        }
    }
}
