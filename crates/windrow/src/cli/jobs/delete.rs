//! `windrow jobs delete`

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Delete a job with its runs, items, results and log. Refused while a run is under way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let name = api.name_of(&args.job).await?;
    api.delete(&args.job).await?;
    output::print(&format!("deleted {name}"));
    Ok(Exit::Passed)
}
