//! `windrow ingest backfill`

use windrow_wire::request::Backfill;

use crate::cli::run::follow;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Fetch slices again from their start, ignoring checkpoints
///
/// Records with a key are upserted. Without a range all slices are fetched; with one, every slice that overlaps
/// it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Start of the range: a time (2026-01-31, 2026-01-31T06:00:00Z) or a key
    #[arg(long)]
    from: Option<String>,
    /// End of the range (exclusive): a time or a key
    #[arg(long)]
    to: Option<String>,
    /// Fetch only this slice; may be repeated
    #[arg(long)]
    slice: Vec<String>,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wish = Backfill { from: args.from, to: args.to, slices: args.slice };
    let run = api.backfill(&args.job, wish).await?;
    let name = api.name_of(&args.job).await?;
    follow::to_end(api, &name, &run, false, args.shown).await
}
