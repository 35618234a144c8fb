//! `windrow jobs clone`

use crate::cli::run::follow;
use crate::client::api::Api;
use crate::error::{Exit, Result};

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

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let run = api.copy(&args.job, &args.name).await?;
    follow::to_end(api, &args.name, &run, false, args.shown).await
}
