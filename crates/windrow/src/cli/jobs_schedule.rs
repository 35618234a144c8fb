//! `windrow jobs schedule`

use windrow_wire::Timestamp;

use super::{find, output};
use crate::error::Result;
use crate::exit::Exit;
use crate::start;
use crate::wiring::{self, App};

/// Let a job start by itself at these times, under a server or `run --scheduled`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Five fields of cron, in UTC, like "0 6 * * *" (daily at 6:00), or @daily and the like
    cron: String,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, _) = find::job(app, &args.job).await?;
    let schedule = start::schedule(app, &job, args.cron, &wiring::actor()).await?;
    let next = schedule.next_at.map(|at| format!(", next at {}", Timestamp::from(at))).unwrap_or_default();
    output::print(&format!("{} starts by itself ({}){next}", job.name, schedule.cron));
    Ok(Exit::Passed)
}
