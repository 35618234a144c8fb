//! Ingest jobs.

use windrow_wire::request::{Backfill, EditCheckpoint, Replay, RestoreCheckpoint};
use windrow_wire::{CheckpointList, CheckpointView, IngestProgress, Lineage, RejectedList, ReplayResult, Submitted};

use crate::app::ingest::{self, LineageOptions, OriginFilter};
use crate::client::api::Api;
use crate::error::Result;

impl Api {
    /// Of a run, named as `JOB`, `JOB#3` or by its id.
    pub async fn lineage(&self, run: &str, wish: LineageOptions) -> Result<Lineage> {
        match self {
            Api::Local(app, actor) => ingest::lineage(app, actor, run, wish).await,
            Api::Remote(remote) => {
                let query = [
                    ("slice", wish.slice.clone()),
                    ("status", wish.status.map(|status| status.to_string())),
                    ("provenance", wish.provenance.clone()),
                    ("operation", wish.operation.clone()),
                    ("expr_hash", wish.expr_hash.clone()),
                    ("after", wish.after.map(|after| after.to_string())),
                    ("limit", Some(wish.limit.to_string())),
                    ("batches", Some(wish.batches.to_string())),
                    ("failed_batches", wish.failed_batches.then(|| "true".to_owned())),
                ];
                remote.get(&["runs", run, "lineage"], &query).await
            }
        }
    }

    pub async fn ingest_progress(&self, wanted: OriginFilter) -> Result<IngestProgress> {
        match self {
            Api::Local(app, actor) => ingest::progress(app, actor, wanted).await,
            Api::Remote(remote) => {
                let query = [("provenance", wanted.provenance), ("operation", wanted.operation)];
                remote.get(&["ingest", "progress"], &query).await
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
            Api::Local(app, actor) => ingest::checkpoints(app, actor, job, slice, below, limit).await,
            Api::Remote(remote) => {
                let query = (("slice", slice), ("below", below), ("limit", limit));
                remote.get(&["jobs", job, "checkpoints"], &query).await
            }
        }
    }

    pub async fn restore_checkpoint(&self, job: &str, wish: RestoreCheckpoint) -> Result<CheckpointView> {
        match self {
            Api::Local(app, actor) => {
                let restore = |change| async move { ingest::restore(app, &change, job, wish).await };
                app.act(actor, "ingest restore", job, restore).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "checkpoints", "restore"], &wish).await,
        }
    }

    pub async fn edit_checkpoint(&self, job: &str, wish: EditCheckpoint) -> Result<CheckpointView> {
        match self {
            Api::Local(app, actor) => {
                app.act(actor, "ingest edit", job, |change| async move { ingest::edit(app, &change, job, wish).await })
                    .await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "checkpoints", "edit"], &wish).await,
        }
    }

    /// Starts a run that fetches slices again; returns its id.
    pub async fn backfill(&self, job: &str, wish: Backfill) -> Result<String> {
        let started: Submitted = match self {
            Api::Local(app, actor) => {
                let backfill = |change| async move { ingest::backfill(app, &change, job, wish, None).await };
                app.act(actor, "ingest backfill", job, backfill).await?
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "backfill"], &wish).await?,
        };
        Ok(started.run)
    }

    pub async fn rejected(
        &self,
        job: &str,
        slice: Option<&str>,
        after: Option<i64>,
        limit: usize,
    ) -> Result<RejectedList> {
        match self {
            Api::Local(app, actor) => ingest::rejected(app, actor, job, slice, after, limit).await,
            Api::Remote(remote) => {
                let query = (("slice", slice), ("after", after), ("limit", limit));
                remote.get(&["jobs", job, "rejected"], &query).await
            }
        }
    }

    pub async fn replay(&self, job: &str, wish: Replay) -> Result<ReplayResult> {
        match self {
            Api::Local(app, actor) => {
                let replay = |change| async move { ingest::replay(app, &change, job, wish).await };
                app.act(actor, "ingest replay", job, replay).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "rejected", "replay"], &wish).await,
        }
    }
}
