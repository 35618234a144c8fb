//! `windrow ingest edit`

use serde_json::Value;
use windrow_wire::request::EditCheckpoint;

use crate::app::ingest::ALL;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Write a checkpoint of a slice manually
///
/// Adds a version with your name; earlier versions are kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Slice name, from `ingest lineage`
    #[arg(long, default_value = ALL)]
    slice: String,
    /// Cursor of the next page, as JSON: "tok-7", 42, or null for the start
    #[arg(long, value_name = "JSON", value_parser = json)]
    position: Option<Value>,
    /// High-water mark: the next run fetches newer records only, as JSON; null removes it
    #[arg(long = "high-water-mark", alias = "high", value_name = "JSON", value_parser = json)]
    high: Option<Value>,
    /// Fail unless this is the newest version
    #[arg(long = "if-version", alias = "expected", value_name = "VERSION")]
    expected: Option<i64>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { job, slice, position, high, expected } = args;
    let wish = EditCheckpoint { slice: Some(slice.clone()), position, high, expected };
    let made = api.edit_checkpoint(&job, wish).await?;
    output::say(&format!("Wrote checkpoint version {} of slice {slice} of {job}.", made.version));
    Ok(Exit::Passed)
}

fn json(text: &str) -> std::result::Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("must be JSON ({error}); quote text, e.g. '\"tok-7\"'"))
}
