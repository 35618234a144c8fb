//! `windrow jobs clone`

use super::{find, follow, start};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Run another job with the definition of this one.
///
/// The copy has its own name, items and results. What the first has paid for is taken over only where
/// both have `cache: true`. It runs right here.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Name of the copy
    name: String,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, latest) = find::job(app, &args.job).await?;
    let request = start::of_copy(app, &job, &latest, args.name, false).await?;
    let run = start::submit(app, request).await?;
    follow::to_end(app, run, false, args.shown).await
}
