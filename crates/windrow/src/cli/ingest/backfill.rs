//! `windrow ingest backfill`

use windrow_wire::request::Backfill;

use crate::cli::run::follow;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Read slices again from their start, whatever their checkpoints say.
///
/// Records with a key are written over, not doubled. Without a range all slices are meant; windows and
/// ranges count where they overlap with it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// From this moment (2026-01-31, 2026-01-31T06:00:00Z) or key on
    #[arg(long)]
    from: Option<String>,
    /// Up to this moment or key, not included
    #[arg(long)]
    to: Option<String>,
    /// Only the slice of this name; may be repeated
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
