//! `windrow ingest`: where data came from, and the checkpoints of plans.

mod backfill;
mod checkpoints;
mod diff;
mod edit;
mod lineage;
mod restore;

use clap::Subcommand;

use super::At;
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::find;
use crate::wiring::App;
use windrow_model::record::{Job, Run};
use windrow_workloads::ingest::Ledger;

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

/// A slice is meant where a plan has only one.
const ALL: &str = "all";

async fn ledger(app: &App, job: &str) -> Result<(Job, Run, Ledger)> {
    let (job, run) = find::job(app, job).await?;
    let ledger = crate::ingest::ledger(app, &job, &run).await?;
    Ok((job, run, ledger))
}

/// Nobody may be reading while a checkpoint is changed.
async fn at_rest(desk: &Desk, job: &str) -> Result<(Job, Ledger)> {
    let app = desk.here("ingest")?;
    let (job, run, ledger) = ledger(app, job).await?;
    let is_resting = run.state.is_final() || run.counters.running == 0;
    if is_resting {
        return Ok((job, ledger));
    }
    let remedy = format!("pause it first: {}", app.command(&format!("jobs pause {}", job.name)));
    Err(Error::new(format!("{} is being read right now", job.name), remedy))
}
