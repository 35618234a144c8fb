//! `windrow ingest edit`

use serde_json::Value;
use windrow_wire::request::EditCheckpoint;

use crate::app::ingest::ALL;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Write a checkpoint of a slice by hand. It is one more entry with your name on it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    #[arg(long, default_value = ALL)]
    slice: String,
    /// Where the next page begins, as JSON: "tok-7", 42, null for the start
    #[arg(long, value_name = "JSON", value_parser = json)]
    position: Option<Value>,
    /// The next pass asks for what is newer, as JSON; null forgets it
    #[arg(long, value_name = "JSON", value_parser = json)]
    high: Option<Value>,
    /// Only if this is the newest version still
    #[arg(long, value_name = "VERSION")]
    expected: Option<i64>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { job, slice, position, high, expected } = args;
    let wish = EditCheckpoint { slice: Some(slice.clone()), position, high, expected };
    let made = api.edit_checkpoint(&job, wish).await?;
    eprintln!("slice {slice} of {job} has its checkpoint as version {}", made.version);
    Ok(Exit::Passed)
}

fn json(text: &str) -> std::result::Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("this is not JSON ({error}); a text stands in quotes: '\"tok-7\"'"))
}
