//! `windrow jobs unschedule`

use super::{find, output};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::{self, App};

/// Let a job no longer start by itself. A run that is under way goes on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, _) = find::job(app, &args.job).await?;
    let Some(schedule) = job.schedule else {
        output::print(&format!("{} has no schedule", job.name));
        return Ok(Exit::Passed);
    };
    app.store.schedule(job.id, None, &wiring::actor(), app.now()).await?;
    output::print(&format!("{} no longer starts by itself (it did at {})", job.name, schedule.cron));
    Ok(Exit::Passed)
}
