//! `windrow jobs prune`

use windrow_wire::request::CleanUp;

use crate::cli::confirm::{self, Precautions};
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Delete finished jobs older than the retention period
///
/// Deletes their items, results and logs. Jobs that are active, scheduled or pinned are never deleted.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Days to keep finished jobs without failed items
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(i64).range(0..))]
    completed: i64,
    /// Days to keep finished jobs with failed or cancelled items
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(i64).range(0..))]
    failed: i64,
    #[command(flatten)]
    precautions: Precautions,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let dry_run = args.precautions.dry_run;
    if !dry_run {
        let what = format!(
            "delete all jobs that finished more than {} ago ({} if items failed), with their results",
            text::plural(args.completed, "day"),
            text::plural(args.failed, "day")
        );
        args.precautions.ask(&what, "This cannot be undone.", "delete")?;
    }
    let wish = CleanUp { completed_days: Some(args.completed), failed_days: Some(args.failed), dry_run };
    let deleted = api.clean_up(wish).await?;
    let what = format!("{} with {}", text::plural(deleted.jobs, "job"), text::plural(deleted.items, "item"));
    if args.json {
        output::print_json(&deleted);
    } else if deleted.jobs == 0 {
        let days = text::plural(args.completed.min(args.failed), "day");
        output::print(&format!("Nothing to delete: no job finished more than {days} ago"));
    } else if dry_run {
        confirm::would(&format!("delete {what}: {}", deleted.names.join(", ")));
    } else {
        output::print(&format!("Deleted {what}."));
    }
    Ok(Exit::Passed)
}
