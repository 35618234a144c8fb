//! `windrow jobs approve`

use windrow_engine::SystemClock;
use windrow_model::Clock;
use windrow_model::rollout::Holdup;
use windrow_wire::request::Approve;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Approve the next wave of an operation
///
/// The wave starts when the previous wave is finished and its bake time is over. Approval may be given earlier.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Approve all waves up to this one; the first wave is 1
    #[arg(long, value_name = "N", conflicts_with = "all", value_parser = clap::value_parser!(i64).range(2..))]
    wave: Option<i64>,
    /// Approve all waves
    #[arg(long)]
    all: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let run = api.approve(&args.job, Approve { wave: args.wave, all: args.all }).await?;
    let approved = run.rollout.as_ref().and_then(|rollout| rollout.approved);
    let what = match approved.filter(|_| !args.all) {
        Some(wave) => format!("wave {wave}"),
        None => "all waves".to_owned(),
    };
    let then = match run.holdup(SystemClock.now()) {
        Some(Holdup::Baking { .. }) => "starts when the bake time of the previous wave is over",
        _ if run.coordinator.is_some() => "starts when the previous wave is finished",
        _ => "no process is executing the run: run its file, or start `windrow serve`",
    };
    output::print(&format!("{}: {what} approved; {then}", api.name_of(&args.job).await?));
    Ok(Exit::Passed)
}
