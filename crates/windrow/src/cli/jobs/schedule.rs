//! `windrow jobs schedule`

use windrow_wire::request::ScheduleRequest;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Run a job on a cron schedule
///
/// A server or `windrow run --scheduled` starts the runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Cron expression, e.g. "0 6 * * *" (daily at 06:00 UTC) or @daily. Optional prefixes: time zone and missed
    /// runs (latest, all or skip), e.g. "tz=Europe/Berlin catch_up=all 0 6 * * *"
    cron: String,
    /// Keep the schedule, but start nothing until it is set again without --paused
    #[arg(long)]
    paused: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wish = ScheduleRequest { cron: args.cron, paused: args.paused };
    let schedule = api.schedule(&args.job, wish).await?;
    let name = api.name_of(&args.job).await?;
    let next = schedule.next_at.map(|at| format!("; next run at {at}")).unwrap_or_default();
    let what = if schedule.paused { "Paused the schedule of" } else { "Scheduled" };
    output::print(&format!("{what} {name}: {}{next}", schedule.cron));
    Ok(Exit::Passed)
}
