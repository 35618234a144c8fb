//! `windrow jobs pause`

use windrow_model::state::RunEvent;

use super::find;
use super::output;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::{self, App};

/// Start no further items until the job is resumed; what is running finishes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::job(app, &args.job).await?;
    let run = app.store.intend(run.id, RunEvent::Pause, &wiring::actor(), args.reason.as_deref(), app.now()).await?;
    output::print(&format!(
        "{} is {}; go on with: {}",
        job.name,
        run.state,
        app.command(&format!("jobs resume {}", job.name))
    ));
    Ok(Exit::Passed)
}
