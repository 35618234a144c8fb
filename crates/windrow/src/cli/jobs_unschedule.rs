//! `windrow jobs unschedule`

use super::output;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

/// Let a job no longer start by itself. A run that is under way goes on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let job = desk.job(&args.job).await?.job;
    let Some(schedule) = job.schedule else {
        output::print(&format!("{} has no schedule", job.name));
        return Ok(Exit::Passed);
    };
    desk.unschedule(&args.job).await?;
    output::print(&format!("{} no longer starts by itself (it did at {})", job.name, schedule.cron));
    Ok(Exit::Passed)
}
