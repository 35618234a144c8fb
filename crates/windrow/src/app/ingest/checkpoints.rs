//! The checkpoints of a plan's slices: looked at, gone back to, written by hand. Each change is one more entry of
//! the ledger beside the data, with the name of who made it.

use windrow_ingest::{By, Edit, Ledger, Unchanged};
use windrow_model::record::{Job, Run};
use windrow_wire::request::{EditCheckpoint, RestoreCheckpoint};
use windrow_wire::{CheckpointList, CheckpointView};

use crate::app::error::{Code, Error, Result};
use crate::app::exit::Exit;
use crate::app::ingest::ALL;
use crate::app::ingest::check;
use crate::app::wiring::App;

pub async fn checkpoints(
    app: &App,
    job: &Job,
    run: &Run,
    slice: &str,
    below: Option<i64>,
    limit: usize,
) -> Result<CheckpointList> {
    let entries = ledger(app, job, run).await?.history(slice, below, limit).await?;
    let next = entries.last().filter(|last| entries.len() == limit && last.version > 1).map(|last| last.version);
    let checkpoints = entries.into_iter().map(Into::into).collect();
    Ok(CheckpointList { slice: slice.to_owned(), checkpoints, next })
}

pub async fn restore(app: &App, job: &Job, run: &Run, wish: RestoreCheckpoint, actor: &str) -> Result<CheckpointView> {
    at_rest(app, job, run)?;
    let by = By { actor, expected: wish.expected };
    let slice = wish.slice.as_deref().unwrap_or(ALL);
    changed(ledger(app, job, run).await?.restore(slice, wish.version, by).await)
}

pub async fn edit(app: &App, job: &Job, run: &Run, wish: EditCheckpoint, actor: &str) -> Result<CheckpointView> {
    let EditCheckpoint { slice, position, high, expected } = wish;
    let edit = Edit { position, high };
    if edit == Edit::default() {
        let error = Error::new("there is nothing to change", "give a position or a highest value");
        return Err(error.ending_with(Exit::Usage).coded(Code::BadRequest));
    }
    at_rest(app, job, run)?;
    let slice = slice.as_deref().unwrap_or(ALL);
    changed(ledger(app, job, run).await?.edit(slice, edit, By { actor, expected }).await)
}

fn changed(done: std::result::Result<windrow_model::ingest::Entry, Unchanged>) -> Result<CheckpointView> {
    match done {
        Ok(entry) => Ok(entry.into()),
        Err(Unchanged::Failed(failure)) => Err(failure.into()),
        Err(Unchanged::Newer(newest)) => {
            let what = format!("the newest checkpoint is not what you have seen: it has version {newest}");
            Err(Error::new(what, "look at it, and try again with that version").coded(Code::Changed))
        }
    }
}

/// Nobody may be reading while a checkpoint is changed.
fn at_rest(app: &App, job: &Job, run: &Run) -> Result<()> {
    if run.state.is_final() || run.counters.running == 0 {
        return Ok(());
    }
    let remedy = format!("pause it first: {}", app.command(&format!("jobs pause {}", job.name)));
    Err(Error::new(format!("{} is being read right now", job.name), remedy).coded(Code::Conflict))
}

/// Of a job's latest definition.
async fn ledger(app: &App, job: &Job, run: &Run) -> Result<Ledger> {
    check(app, job)?;
    let spec = app.store.spec(&run.spec_hash).await?;
    Ok(Ledger::open(&spec, app.environment().of_workspace(&job.workspace)).await?)
}
