//! `windrow jobs delete`

use crate::cli::confirm::Precautions;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::style;

/// Delete a job and its results
///
/// Deletes its runs, items, results and log. A job with an active run cannot be deleted.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    #[command(flatten)]
    precautions: Precautions,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let detail = api.job(&args.job).await?;
    let (name, runs) = (&detail.job.name, text::plural(detail.runs.len() as i64, "run"));
    let items = text::plural(detail.runs.iter().map(|run| run.items.total).max().unwrap_or(0), "item");
    let lost = style::bold(format!("{runs}, {items} and all results"));
    if args.precautions.ask(&format!("delete job {name:?} with {lost}"), "This cannot be undone.", "delete")? {
        api.delete(&args.job).await?;
        output::print(&format!("Deleted {name}."));
    }
    Ok(Exit::Passed)
}
