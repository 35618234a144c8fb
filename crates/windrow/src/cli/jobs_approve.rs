//! `windrow jobs approve`

use windrow_model::rollout::Holdup;

use super::output;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;
use crate::{find, wiring};

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

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let app = desk.here("jobs approve")?;
    let (job, run) = find::job(app, &args.job).await?;
    let wave = match (args.wave, args.all) {
        (_, true) => i64::MAX,
        (Some(wave), _) => wave - 1,
        (None, false) => run.stage.wave + 1,
    };
    let run = app.store.approve(run.id, wave, &wiring::actor(), app.now()).await?;
    let what = if args.all { "all waves".to_owned() } else { format!("wave {}", wave + 1) };
    let then = match run.position().holdup(app.now()) {
        Some(Holdup::Baking { .. }) => "it opens when the wave before it was watched long enough",
        _ if app.coordinator_of(&run).await?.is_some() => "it opens as soon as what comes before it has settled",
        _ => "nobody works on it now: run its file, or `windrow serve`",
    };
    output::print(&format!("{}: {what} approved; {then}", job.name));
    Ok(Exit::Passed)
}
