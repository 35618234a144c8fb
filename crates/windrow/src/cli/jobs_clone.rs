//! `windrow jobs clone`

use super::follow;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

/// Run another job with the definition of this one.
///
/// The copy has its own name, items and results. What the first has paid for is taken over only where
/// both have `cache: true`. It runs right here, or at the server that was named.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Name of the copy
    name: String,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let run = desk.copy(&args.job, &args.name).await?;
    follow::to_end(desk, &args.name, &run, false, args.shown).await
}
