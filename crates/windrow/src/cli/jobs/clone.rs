//! `windrow jobs clone`

use crate::cli::run::follow;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Run a copy of a job under a new name
///
/// The copy has its own items and results. It reuses results of the original only if both have `cache: true`. It
/// runs in this process, or on the server given with --server.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
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
