//! `windrow jobs schedule`

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Let a job start by itself at these times, under a server or `run --scheduled`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Five fields of cron, like "0 6 * * *" (daily at 6:00 UTC), or @daily and the like. Before them a time zone and
    /// what becomes of missed starts, if need be: "tz=Europe/Berlin catch_up=all 0 6 * * *" (latest, all or skip)
    cron: String,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let schedule = api.schedule(&args.job, &args.cron).await?;
    let name = api.name_of(&args.job).await?;
    let next = schedule.next_at.map(|at| format!(", next at {at}")).unwrap_or_default();
    output::print(&format!("{name} starts by itself ({}){next}", schedule.cron));
    Ok(Exit::Passed)
}
