//! `windrow jobs pin` and `windrow jobs unpin`

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Keep a job: retention and `jobs prune` never delete it
#[derive(Debug, clap::Args)]
pub struct PinArgs {
    /// Job name or id
    job: String,
}

/// Let retention delete a job again
#[derive(Debug, clap::Args)]
pub struct UnpinArgs {
    /// Job name or id
    job: String,
}

pub async fn pin(api: &Api, args: PinArgs) -> Result<Exit> {
    api.pin(&args.job, true).await?;
    output::print(&format!("Pinned {}: retention keeps its results and log.", api.name_of(&args.job).await?));
    Ok(Exit::Passed)
}

pub async fn unpin(api: &Api, args: UnpinArgs) -> Result<Exit> {
    api.pin(&args.job, false).await?;
    output::print(&format!("Unpinned {}: retention applies again.", api.name_of(&args.job).await?));
    Ok(Exit::Passed)
}
