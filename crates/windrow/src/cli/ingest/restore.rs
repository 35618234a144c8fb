//! `windrow ingest restore`

use super::{ALL, at_rest};
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring;

/// Go back to an earlier checkpoint of a slice: the next run reads what follows it once more.
///
/// The checkpoints in between are kept, and going back is one more entry with your name on it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Version of the checkpoint, from `ingest checkpoints`
    version: i64,
    #[arg(long, default_value = ALL)]
    slice: String,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let (job, ledger) = at_rest(desk, &args.job).await?;
    let entry = ledger.restore(&args.slice, args.version, &wiring::actor()).await?;
    eprintln!(
        "slice {} of {} is at version {} again, as version {}",
        args.slice, job.name, args.version, entry.version
    );
    Ok(Exit::Passed)
}
