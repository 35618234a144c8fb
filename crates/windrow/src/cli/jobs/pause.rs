//! `windrow jobs pause`

use windrow_model::state::RunEvent;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Pause a job: running items finish, no new items start
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Reason, recorded in the job's log
    #[arg(long)]
    reason: Option<String>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let run = api.request_transition(&args.job, RunEvent::Pause, args.reason.as_deref()).await?;
    let name = api.name_of(&args.job).await?;
    let resume = api.command(&format!("jobs resume {name}"));
    output::print(&format!("{name} is {}. Resume it with: {resume}", run.state));
    Ok(Exit::Passed)
}
