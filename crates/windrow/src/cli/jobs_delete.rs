//! `windrow jobs delete`

use super::output;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

/// Delete a job with its runs, items, results and log. Refused while a run is under way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let name = desk.name_of(&args.job).await?;
    desk.delete(&args.job).await?;
    output::print(&format!("deleted {name}"));
    Ok(Exit::Passed)
}
