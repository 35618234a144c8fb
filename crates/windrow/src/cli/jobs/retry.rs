//! `windrow jobs retry`

use windrow_model::ErrorClass;
use windrow_model::aggregate::Aggregates;
use windrow_model::state::{Mode, RunState};
use windrow_wire::request::{ItemRef, Retry};
use windrow_wire::{JobDetail, JobRow};

use crate::cli::run::{follow, result};
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Code, Error, Exit, Result};
use crate::text;

/// Retry failed and cancelled items
///
/// Uses the definition of the latest run. Finished steps are reused, and earlier attempts are kept. Several
/// filters must all match. The retry runs in this process, or on the server given with --server.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Retry only items that failed with this error class, e.g. timeout; may be repeated
    #[arg(long, value_name = "CLASS")]
    error: Vec<ErrorClass>,
    /// Retry this item, by its id in `jobs items` or its target's name, even if it succeeded; may be repeated
    #[arg(long, value_name = "ITEM")]
    item: Vec<ItemRef>,
    /// Retry only items for which this evaluator reported an error; may be repeated
    #[arg(long, value_name = "NAME")]
    evaluator: Vec<String>,
    /// Retry only items with evaluator errors
    #[arg(long)]
    unjudged: bool,
    /// Retry only items whose cell in this column failed; may be repeated
    #[arg(long, value_name = "NAME")]
    column: Vec<String>,
    #[command(flatten)]
    shown: follow::Shown,
}

impl Args {
    fn wish(&self) -> Retry {
        Retry {
            errors: self.error.clone(),
            items: self.item.clone(),
            evaluators: self.evaluator.clone(),
            unjudged: self.unjudged,
            columns: self.column.clone(),
        }
    }
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let JobDetail { job, aggregates, .. } = api.job(&args.job).await?;
    if !job.latest_run.state.is_final() {
        return unfinished(api, &job, args).await;
    }
    let wish = args.wish();
    if wish == Retry::default() && !api.has_failed(&job.id).await? {
        output::say(&format!("Nothing to retry: {} has no failed or cancelled items", job.name));
        if !args.shown.json {
            return Ok(Exit::Passed);
        }
        let report = follow::report(api, &job.name, false, true);
        return result::show_earlier(api, &job.latest_run.id, &report).await;
    }
    let chosen = chosen(&job, aggregates.as_ref(), &wish);
    let run = api.retry(&job.id, wish).await?;
    if let Some(chosen) = chosen.filter(|_| !args.shown.quiet) {
        output::say(&chosen);
    }
    follow::to_end(api, &job.name, &run, false, args.shown).await
}

/// `Retrying 9 of 12 failed items`, where the choice is one of error classes.
fn chosen(job: &JobRow, aggregates: Option<&Aggregates>, wish: &Retry) -> Option<String> {
    let Retry { errors, items, evaluators, unjudged, columns } = wish;
    if !(items.is_empty() && evaluators.is_empty() && !unjudged && columns.is_empty()) {
        return None;
    }
    let (failed, cancelled) = (job.items.failed, job.items.cancelled);
    if errors.is_empty() {
        return Some(match cancelled {
            0 => format!("Retrying {}", text::plural(failed, "failed item")),
            n => format!("Retrying {} failed and {}", text::count(failed), text::plural(n, "cancelled item")),
        });
    }
    let of_class = |class: &ErrorClass| aggregates?.errors.get(class.as_str()).copied();
    let n: i64 = errors.iter().filter_map(of_class).sum();
    Some(format!("Retrying {} of {} failed items", text::count(n), text::plural(failed, "failed item")))
}

/// An interrupted retry is resumed; any other unfinished run belongs to its job file.
async fn unfinished(api: &Api, job: &JobRow, args: Args) -> Result<Exit> {
    let (name, run) = (&job.name, &job.latest_run);
    if let Some(worker) = api.worker_of(run).await? {
        let what =
            format!("ExperimentRunningExisted: run {} of {name} is already executed by process {}", run.no, worker.pid);
        return Err(Error::new(what, "wait until it finishes, then retry the failed items").coded(Code::RunningExisted));
    }
    if run.mode != Mode::FailRetry || run.state == RunState::Paused {
        let what = format!("cannot retry {name}: run {} is {}, not finished", run.no, run.state);
        let cancel = api.command(&format!("jobs cancel {name}"));
        let here = follow::command(api, name);
        return Err(
            Error::new(what, format!("finish it with `{here}`, or cancel it with `{cancel}`")).coded(Code::Conflict)
        );
    }
    output::say(&format!("Resuming run {} (retry)", run.no));
    follow::to_end(api, name, &run.id, true, args.shown).await
}
