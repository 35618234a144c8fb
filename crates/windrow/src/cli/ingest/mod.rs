//! `windrow ingest`: where data came from, and the checkpoints of plans.

mod backfill;
mod checkpoints;
mod diff;
mod edit;
mod lineage;
mod restore;

use clap::Subcommand;

use super::Context;
use crate::error::{Exit, Result};

#[derive(Debug, Subcommand)]
pub enum Ingest {
    /// From the schedule instance to the batches: plan, slices, tasks, runs
    Lineage(lineage::Args),
    /// All checkpoints of a slice, newest first
    Checkpoints(checkpoints::Args),
    /// What differs between two checkpoints of a slice
    Diff(diff::Args),
    /// Go back to an earlier checkpoint: what follows it is read again
    Restore(restore::Args),
    /// Write a checkpoint by hand
    Edit(edit::Args),
    /// Read slices again from their start
    Backfill(backfill::Args),
}

pub async fn perform(context: Context, command: Ingest) -> Result<Exit> {
    let api = context.api().await?;
    match command {
        Ingest::Lineage(args) => lineage::perform(&api, args).await,
        Ingest::Checkpoints(args) => checkpoints::perform(&api, args).await,
        Ingest::Diff(args) => diff::perform(&api, args).await,
        Ingest::Restore(args) => restore::perform(&api, args).await,
        Ingest::Edit(args) => edit::perform(&api, args).await,
        Ingest::Backfill(args) => backfill::perform(&api, args).await,
    }
}
