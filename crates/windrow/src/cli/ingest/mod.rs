//! `windrow ingest`: where data came from, and the checkpoints of plans.

mod backfill;
mod checkpoints;
mod diff;
mod edit;
mod lineage;
mod restore;

use clap::Subcommand;

use super::At;
use crate::error::Result;
use crate::exit::Exit;

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

pub async fn perform(at: At, command: Ingest) -> Result<Exit> {
    let desk = at.desk().await?;
    match command {
        Ingest::Lineage(args) => lineage::perform(&desk, args).await,
        Ingest::Checkpoints(args) => checkpoints::perform(&desk, args).await,
        Ingest::Diff(args) => diff::perform(&desk, args).await,
        Ingest::Restore(args) => desk.change("ingest restore", args.job.clone(), restore::perform(&desk, args)).await,
        Ingest::Edit(args) => desk.change("ingest edit", args.job.clone(), edit::perform(&desk, args)).await,
        Ingest::Backfill(args) => {
            desk.change("ingest backfill", args.job.clone(), backfill::perform(&desk, args)).await
        }
    }
}
