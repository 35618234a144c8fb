//! `windrow jobs rollback`

use windrow_model::state::{Mode, RunState};
use windrow_wire::JobRow;
use windrow_wire::request::Rollback;

use crate::cli::run::follow;
use crate::client::api::Api;
use crate::error::{Code, Error, Exit, Result};

/// Take an operation back: every target to what it was before, the last changed first.
///
/// A target that somebody has changed since is refused, and says how; `--force` takes it back all the
/// same. It runs right here, or at the server that was named, and can be interrupted and continued like any other run.
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

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let job = api.job(&args.job).await?.job;
    if !job.latest_run.state.is_final() {
        return unfinished(api, &job, args.shown).await;
    }
    let wish = Rollback { items: args.item, wave: args.wave, force: args.force };
    let run = api.rollback(&job.id, wish).await?;
    follow::to_end(api, &job.name, &run, false, args.shown).await
}

/// An interrupted rollback is continued; any other unfinished run has to end first.
async fn unfinished(api: &Api, job: &JobRow, shown: follow::Shown) -> Result<Exit> {
    let (name, run) = (&job.name, &job.latest_run);
    let held = matches!(api, Api::Local(..)) && api.worker_of(run).await?.is_some();
    if run.mode == Mode::Rollback && run.state != RunState::Paused && !held {
        eprintln!("continuing rollback {}", run.id);
        return follow::to_end(api, name, &run.id, true, shown).await;
    }
    let what = format!("run {} of {name} is {} and not finished", run.no, run.state);
    let cancel = api.command(&format!("jobs cancel {name}"));
    let remedy = format!("end it with `{cancel}`; what it has changed can be taken back then");
    Err(Error::new(what, remedy).coded(Code::Conflict))
}
