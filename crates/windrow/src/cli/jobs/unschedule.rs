//! `windrow jobs unschedule`

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Remove a job's schedule
///
/// An active run continues.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let job = api.job(&args.job).await?.job;
    let Some(schedule) = job.schedule else {
        output::print(&format!("{} has no schedule", job.name));
        return Ok(Exit::Passed);
    };
    api.unschedule(&args.job).await?;
    output::print(&format!("Removed the schedule of {} ({})", job.name, schedule.cron));
    Ok(Exit::Passed)
}
