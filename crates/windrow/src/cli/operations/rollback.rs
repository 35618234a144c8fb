//! `windrow jobs rollback`

use windrow_model::ItemId;
use windrow_model::state::{Mode, RunState};
use windrow_wire::request::{ItemRef, Rollback};
use windrow_wire::{JobRow, TargetView};

use crate::app::operations::TargetFilter;
use crate::cli::confirm::{self, Confirmation};
use crate::cli::run::follow;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Code, Error, Exit, Result};
use crate::text;
use crate::text::style;

const PAGE: usize = 200;
/// Targets listed by a dry run.
const SHOWN: i64 = 20;

/// Roll back an operation: restore each target's previous state
///
/// Restores what the definition of the latest run changed, and leaves other targets alone. Targets are restored in
/// reverse order. A target that changed after the operation is a conflict and is not
/// overwritten unless `--force` is given. The rollback runs in this process, or on the server given with --server,
/// and can be interrupted and resumed like any other run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id; JOB#N rolls back what the definition of run N changed [default: the latest]
    pub job: String,
    /// Roll back only the targets of this wave; the first wave is 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    wave: Option<i64>,
    /// Roll back only this target, by its name or its id in `jobs items`; may be repeated
    #[arg(long, value_name = "TARGET")]
    item: Vec<ItemRef>,
    /// Overwrite targets that changed after the operation
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    /// List the targets that would be restored, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    shown: follow::Shown,
}

fn confirm(args: &Args) -> Result<()> {
    if !args.force {
        return Ok(());
    }
    let question = format!(
        "Roll back {:?} and overwrite targets that changed after the operation? Those changes are lost.",
        args.job
    );
    args.confirmation.ask(&question, "overwrite them")
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if args.dry_run {
        return preview(api, &args).await;
    }
    confirm(&args)?;
    let name = args.job.rsplit_once('#').map_or(args.job.as_str(), |(name, _)| name);
    let job = api.job(name).await?.job;
    if !job.latest_run.state.is_final() {
        return unfinished(api, &job, args.shown).await;
    }
    let wish = Rollback { items: args.item, wave: args.wave, force: args.force };
    let run = api.rollback(&args.job, wish).await?;
    follow::to_end(api, &job.name, &run, false, args.shown).await
}

fn names(item: &ItemRef, target: &TargetView) -> bool {
    match item {
        ItemRef::Id(id) => id.to_string() == target.item || id.to_string() == target.target,
        ItemRef::Name(name) => *name == target.target,
    }
}

async fn preview(api: &Api, args: &Args) -> Result<Exit> {
    let chosen = |target: &TargetView| {
        !target.changes.is_empty()
            && args.wave.is_none_or(|wave| wave == target.wave)
            && (args.item.is_empty() || args.item.iter().any(|item| names(item, target)))
    };
    let (mut wanted, mut restored) = (TargetFilter { limit: PAGE, ..TargetFilter::default() }, 0);
    loop {
        let page = api.targets(&args.job, wanted.clone()).await?;
        for target in page.targets.iter().filter(|target| chosen(target)) {
            restored += 1;
            if restored <= SHOWN {
                output::print(&format!("  {} {}  {}", style::yellow("~"), target.target, target.changes.join("; ")));
            }
        }
        wanted.after = page.next.and_then(|next| next.parse().ok()).map(ItemId);
        if wanted.after.is_none() {
            break;
        }
    }
    if restored > SHOWN {
        output::print(&format!("  … {} more", text::count(restored - SHOWN)));
    }
    confirm::would(&format!("restore {}", text::plural(restored, "target")));
    Ok(Exit::Passed)
}

/// An interrupted rollback is resumed; any other unfinished run has to end first.
async fn unfinished(api: &Api, job: &JobRow, shown: follow::Shown) -> Result<Exit> {
    let (name, run) = (&job.name, &job.latest_run);
    let held = matches!(api, Api::Local(..)) && api.worker_of(run).await?.is_some();
    if run.mode == Mode::Rollback && run.state != RunState::Paused && !held {
        output::say(&format!("Resuming run {} (rollback)", run.no));
        return follow::to_end(api, name, &run.id, true, shown).await;
    }
    let what = format!("cannot roll back {name}: run {} is {}, not finished", run.no, run.state);
    let cancel = api.command(&format!("jobs cancel {name}"));
    let remedy = format!("cancel it with `{cancel}`, then roll back");
    Err(Error::new(what, remedy).coded(Code::Conflict))
}
