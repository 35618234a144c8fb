//! `windrow jobs delete`

use crate::cli::confirm::Confirmation;
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
    confirmation: Confirmation,
}

pub async fn confirm(api: &Api, args: &Args) -> Result<()> {
    let detail = api.job(&args.job).await?;
    let (name, runs) = (&detail.job.name, text::plural(detail.runs.len() as i64, "run"));
    let items = text::plural(detail.runs.iter().map(|run| run.items.total).max().unwrap_or(0), "item");
    let lost = style::bold(format!("{runs}, {items} and all results"));
    let question = format!("Delete job {name:?} with {lost}? This cannot be undone.");
    args.confirmation.ask(&question, "delete")
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let name = api.name_of(&args.job).await?;
    api.delete(&args.job).await?;
    output::print(&format!("Deleted {name}."));
    Ok(Exit::Passed)
}
