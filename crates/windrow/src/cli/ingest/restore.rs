//! `windrow ingest restore`

use windrow_wire::request::RestoreCheckpoint;

use crate::app::ingest::ALL;
use crate::client::api::Api;
use crate::error::{Exit, Result};

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
    /// Only if this is the newest version still
    #[arg(long, value_name = "VERSION")]
    expected: Option<i64>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { job, version, slice, expected } = args;
    let wish = RestoreCheckpoint { slice: Some(slice.clone()), version, expected };
    let made = api.restore_checkpoint(&job, wish).await?;
    eprintln!("slice {slice} of {job} is at version {version} again, as version {}", made.version);
    Ok(Exit::Passed)
}
