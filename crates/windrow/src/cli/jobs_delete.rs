//! `windrow jobs delete`

use super::{find, output};
use crate::delete;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Delete a job with its runs, items, results and log. Refused while a run is under way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, _) = find::job(app, &args.job).await?;
    app.store.delete_job(job.id).await?;
    delete::sweep(app).await?;
    output::print(&format!("deleted {}", job.name));
    Ok(Exit::Passed)
}
