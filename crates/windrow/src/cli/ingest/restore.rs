//! `windrow ingest restore`

use windrow_wire::request::RestoreCheckpoint;

use crate::app::ingest::ALL;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Restore a checkpoint; later records are fetched again
///
/// Adds a version with your name; the versions in between are kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Version of the checkpoint, from `ingest checkpoints`
    version: i64,
    /// Slice name, from `ingest lineage`
    #[arg(long, default_value = ALL)]
    slice: String,
    /// Fail unless this is the newest version
    #[arg(long = "if-version", alias = "expected", value_name = "VERSION")]
    expected: Option<i64>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { job, version, slice, expected } = args;
    let wish = RestoreCheckpoint { slice: Some(slice.clone()), version, expected };
    let made = api.restore_checkpoint(&job, wish).await?;
    output::say(&format!("Restored checkpoint {version} of slice {slice} of {job} as version {}.", made.version));
    Ok(Exit::Passed)
}
