//! `windrow jobs pause`

use windrow_model::state::RunEvent;

use super::output;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

/// Start no further items until the job is resumed; what is running finishes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let run = desk.intend(&args.job, RunEvent::Pause, args.reason.as_deref()).await?;
    let name = desk.name_of(&args.job).await?;
    output::print(&format!("{name} is {}; go on with: {}", run.state, desk.command(&format!("jobs resume {name}"))));
    Ok(Exit::Passed)
}
