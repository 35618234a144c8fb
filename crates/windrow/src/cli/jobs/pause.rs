//! `windrow jobs pause`

use windrow_model::state::RunEvent;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Start no further items until the job is resumed; what is running finishes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let run = api.request_transition(&args.job, RunEvent::Pause, args.reason.as_deref()).await?;
    let name = api.name_of(&args.job).await?;
    output::print(&format!("{name} is {}; go on with: {}", run.state, api.command(&format!("jobs resume {name}"))));
    Ok(Exit::Passed)
}
