//! `windrow jobs approve`

use windrow_engine::SystemClock;
use windrow_model::Clock;
use windrow_model::rollout::Holdup;
use windrow_wire::request::Approve;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Let the next wave of an operation open.
///
/// It opens once the wave before it has settled and was watched for as long as it should be. Approval
/// may be given before that.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Approve all waves up to this one, from 1
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
        Some(Holdup::Baking { .. }) => "it opens when the wave before it was watched long enough",
        _ if run.coordinator.is_some() => "it opens as soon as what comes before it has settled",
        _ => "nobody works on it now: run its file, or `windrow serve`",
    };
    output::print(&format!("{}: {what} approved; {then}", api.name_of(&args.job).await?));
    Ok(Exit::Passed)
}
