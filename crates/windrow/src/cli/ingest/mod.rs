//! `windrow ingest`: lineage and checkpoints of ingest jobs.

mod backfill;
mod checkpoints;
mod diff;
mod edit;
mod lineage;
mod progress;
mod rejected;
mod replay;
mod restore;

use clap::Subcommand;

use super::Context;
use crate::error::{Exit, Result};

#[derive(Debug, Subcommand)]
pub enum Ingest {
    Lineage(lineage::Args),
    Progress(progress::Args),
    Checkpoints(checkpoints::Args),
    Diff(diff::Args),
    Restore(restore::Args),
    Edit(edit::Args),
    Backfill(backfill::Args),
    Rejected(rejected::Args),
    Replay(replay::Args),
}

pub async fn perform(context: Context, command: Ingest) -> Result<Exit> {
    let api = context.api().await?;
    match command {
        Ingest::Lineage(args) => lineage::perform(&api, args).await,
        Ingest::Progress(args) => progress::perform(&api, args).await,
        Ingest::Checkpoints(args) => checkpoints::perform(&api, args).await,
        Ingest::Diff(args) => diff::perform(&api, args).await,
        Ingest::Restore(args) => restore::perform(&api, args).await,
        Ingest::Edit(args) => edit::perform(&api, args).await,
        Ingest::Backfill(args) => backfill::perform(&api, args).await,
        Ingest::Rejected(args) => rejected::perform(&api, args).await,
        Ingest::Replay(args) => replay::perform(&api, args).await,
    }
}
