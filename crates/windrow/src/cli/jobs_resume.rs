//! `windrow jobs resume`

use windrow_model::state::RunEvent;

use super::find;
use super::output;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::{self, App};

/// Let a paused job go on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::job(app, &args.job).await?;
    let run = app.store.intend(run.id, RunEvent::Resume, &wiring::actor(), None, app.now()).await?;
    let who = match app.coordinator_of(&run).await? {
        Some(session) => format!("process {} goes on with it", session.pid),
        None => "the `windrow run` that waits for it goes on; if there is none, run its file again".into(),
    };
    output::print(&format!("{} is {}: {who}", job.name, run.state));
    Ok(Exit::Passed)
}
