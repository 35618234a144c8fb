//! `windrow ingest edit`

use serde_json::Value;
use windrow_workloads::ingest::Edit;

use super::{ALL, at_rest};
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring;

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
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let edit = Edit { position: args.position, high: args.high };
    if edit == Edit::default() {
        let remedy = "give --position or --high";
        return Err(Error::new("there is nothing to change", remedy).ending_with(Exit::Usage));
    }
    let (job, ledger) = at_rest(desk, &args.job).await?;
    let entry = ledger.edit(&args.slice, edit, &wiring::actor()).await?;
    eprintln!("slice {} of {} has its checkpoint as version {}", args.slice, job.name, entry.version);
    Ok(Exit::Passed)
}

fn json(text: &str) -> std::result::Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("this is not JSON ({error}); a text stands in quotes: '\"tok-7\"'"))
}
