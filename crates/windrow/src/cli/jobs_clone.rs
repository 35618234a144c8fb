//! `windrow jobs clone`

use windrow_model::state::Mode;

use super::{find, follow, start};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;

/// Run another job with the definition of this one.
///
/// The copy has its own name, items and results. What the first has paid for is taken over only where
/// both have `cache: true`. It runs right here.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Name of the copy
    name: String,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, latest) = find::job(app, &args.job).await?;
    if app.store.find_job(&job.workspace, &args.name).await?.is_some() {
        return Err(Error::new(format!("there is a job {:?} already", args.name), "choose another name for the copy"));
    }
    let mut request = start::of_run(app, &job, &latest, Mode::Submit).await?;
    request.name = args.name;
    let run = start::submit(app, request).await?;
    follow::to_end(app, run, false, args.shown).await
}
