//! `windrow jobs rollback`

use windrow_model::ItemId;
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};
use windrow_model::store::Selection;
use windrow_workloads::operation;

use super::follow;
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;
use crate::{find, start};

/// Take an operation back: every target to what it was before, the last changed first.
///
/// A target that somebody has changed since is refused, and says how; `--force` takes it back all the
/// same. It runs right here, and can be interrupted and continued like any other run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Only targets of this wave, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    wave: Option<i64>,
    /// Only this item, by its id in `jobs items`; may be repeated
    #[arg(long, value_name = "ITEM")]
    item: Vec<i64>,
    /// Also where a target has changed since
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let app = desk.here("jobs rollback")?;
    let (job, latest) = find::job(app, &args.job).await?;
    if job.kind != operation::KIND {
        let what = format!("{} is an {}, which changes nothing and cannot be rolled back", job.name, job.kind);
        return Err(Error::new(what, "only operations can"));
    }
    if !latest.state.is_final() {
        return unfinished(desk, app, &job, &latest, args).await;
    }
    let mut request = start::of_run(app, &job, &latest, Mode::Rollback).await?;
    let wave = args.wave.map(|wave| wave - 1);
    let items = args.item.iter().map(|id| ItemId(*id)).collect();
    request.selection = Some(Selection { wave, items, ..Selection::of(Mode::Rollback) });
    if args.force {
        (request.spec, request.spec_hash) = operation::forced(&request.spec).map_err(|error| {
            Error::new(format!("the definition cannot be read: {error}"), "use the version it was submitted with")
        })?;
    }
    let run = start::submit(app, request).await?;
    follow::to_end(desk, &job.name, &run.to_string(), false, args.shown).await
}

/// An interrupted rollback is continued; any other unfinished run has to end first.
async fn unfinished(desk: &Desk, app: &App, job: &Job, run: &Run, args: Args) -> Result<Exit> {
    let held = app.coordinator_of(run).await?;
    if let (None, Mode::Rollback, false) = (&held, run.mode, run.state == RunState::Paused) {
        eprintln!("continuing rollback {}", run.id);
        return follow::to_end(desk, &job.name, &run.id.to_string(), true, args.shown).await;
    }
    let what = format!("run {} of {} is {} and not finished", run.no, job.name, run.state);
    let cancel = app.command(&format!("jobs cancel {}", job.name));
    Err(Error::new(what, format!("end it with `{cancel}`; what it has changed can be taken back then")))
}
