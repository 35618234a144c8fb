//! The checkpoints of an ingest job's slices: read, restored, edited. Each change is one more entry of the ledger
//! beside the data, with the name of its actor.

use windrow_ingest::{By, Edit, Ledger, Unchanged};
use windrow_model::record::{Job, LogLevel, Run};
use windrow_model::store::NewLog;
use windrow_wire::request::{EditCheckpoint, RestoreCheckpoint};
use windrow_wire::{CheckpointList, CheckpointView};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::ingest::{ALL, check};
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

pub async fn checkpoints(
    app: &App,
    actor: &Actor,
    job: &str,
    slice: &str,
    below: Option<i64>,
    limit: usize,
) -> Result<CheckpointList> {
    let (job, run) = lookup::job(app, actor, job).await?;
    let entries = ledger(app, &job, &run).await?.history(slice, below, limit).await?;
    let next = entries.last().filter(|last| entries.len() == limit && last.version > 1).map(|last| last.version);
    let checkpoints = entries.into_iter().map(Into::into).collect();
    Ok(CheckpointList { slice: slice.to_owned(), checkpoints, next })
}

pub async fn restore(app: &App, change: &Change, job: &str, wish: RestoreCheckpoint) -> Result<CheckpointView> {
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    at_rest(app, &job, &run)?;
    let by = By { actor: &change.actor.name, expected: wish.expected };
    let slice = wish.slice.as_deref().unwrap_or(ALL);
    let entry = changed(ledger(app, &job, &run).await?.restore(slice, wish.version, by).await)?;
    let message = format!("slice {slice:?}, version {}: as version {}", entry.version, wish.version);
    note(app, &job, "checkpoint_restored", change, message).await?;
    Ok(entry)
}

pub async fn edit(app: &App, change: &Change, job: &str, wish: EditCheckpoint) -> Result<CheckpointView> {
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    let EditCheckpoint { slice, position, high, expected } = wish;
    let edit = Edit { position, high };
    if edit == Edit::default() {
        return Err(Error::new("nothing to change", "pass a position or a high-water mark").coded(Code::BadRequest));
    }
    at_rest(app, &job, &run)?;
    let slice = slice.as_deref().unwrap_or(ALL);
    let by = By { actor: &change.actor.name, expected };
    let entry = changed(ledger(app, &job, &run).await?.edit(slice, edit, by).await)?;
    note(app, &job, "checkpoint_edited", change, format!("slice {slice:?}, version {}", entry.version)).await?;
    Ok(entry)
}

/// In the log of the job, so that changes of all slices stand in one place. The ledger has them first.
pub(super) async fn note(app: &App, job: &Job, event: &str, change: &Change, message: String) -> Result<()> {
    let (event, actor) = (event.to_owned(), change.actor.name.clone());
    let line = NewLog { job: job.id, run: None, item: None, level: LogLevel::Info, event, actor, message };
    Ok(app.store.log(vec![line], app.now()).await?)
}

fn changed(done: std::result::Result<windrow_model::ingest::Entry, Unchanged>) -> Result<CheckpointView> {
    match done {
        Ok(entry) => Ok(entry.into()),
        Err(Unchanged::Failed(failure)) => Err(failure.into()),
        Err(Unchanged::Newer(newest)) => {
            let what = format!("the checkpoint has changed: its version is now {newest}");
            Err(Error::new(what, "read it, then retry with that version").coded(Code::Changed))
        }
    }
}

/// No slice may be running while a checkpoint is changed.
pub(super) fn at_rest(app: &App, job: &Job, run: &Run) -> Result<()> {
    if run.state.is_final() || run.counters.running == 0 {
        return Ok(());
    }
    let remedy = format!("pause it first with `{}`", app.command(&format!("jobs pause {}", job.name)));
    Err(Error::new(format!("{} is running", job.name), remedy).coded(Code::Conflict))
}

/// Of a job's latest definition.
async fn ledger(app: &App, job: &Job, run: &Run) -> Result<Ledger> {
    check(app, job)?;
    let spec = app.store.spec(&run.spec_hash).await?;
    Ok(Ledger::open(&spec, app.environment().of_workspace(&job.workspace)).await?)
}
