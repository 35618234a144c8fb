//! `windrow jobs unschedule`

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Let a job no longer start by itself. A run that is under way goes on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let job = api.job(&args.job).await?.job;
    let Some(schedule) = job.schedule else {
        output::print(&format!("{} has no schedule", job.name));
        return Ok(Exit::Passed);
    };
    api.unschedule(&args.job).await?;
    output::print(&format!("{} no longer starts by itself (it did at {})", job.name, schedule.cron));
    Ok(Exit::Passed)
}
