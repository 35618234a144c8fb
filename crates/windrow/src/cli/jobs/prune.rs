//! `windrow jobs prune`

use crate::cli::confirm::Confirmation;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Delete finished jobs older than the retention period
///
/// Deletes their items, results and logs. Jobs with an active run are never deleted.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Days to keep finished jobs without failed items
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(i64).range(0..))]
    completed: i64,
    /// Days to keep finished jobs with failed or cancelled items
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(i64).range(0..))]
    failed: i64,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub fn confirm(args: &Args) -> Result<()> {
    let question = format!(
        "Delete all jobs that finished more than {} ago ({} if items failed), with their results? This cannot be undone.",
        text::plural(args.completed, "day"),
        text::plural(args.failed, "day")
    );
    args.confirmation.ask(&question, "delete")
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let deleted = api.clean_up(args.completed, args.failed).await?;
    match (args.json, deleted.jobs) {
        (true, _) => output::print_json(&deleted),
        (false, 0) => {
            let days = text::plural(args.completed.min(args.failed), "day");
            output::print(&format!("Nothing to delete: no job finished more than {days} ago"));
        }
        (false, jobs) => {
            let (jobs, items) = (text::plural(jobs, "job"), text::plural(deleted.items, "item"));
            output::print(&format!("Deleted {jobs} with {items}."));
        }
    }
    Ok(Exit::Passed)
}
