//! `windrow ingest checkpoints`

use windrow_model::ingest::Entry;
use windrow_wire::Timestamp;

use super::{ALL, ledger};
use crate::cli::{output, text};
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

/// All checkpoints of a slice, newest first. Each is kept in the destination, in the transaction of the
/// batch that made it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Name of the slice, as `ingest lineage` shows it
    #[arg(default_value = ALL)]
    slice: String,
    /// Only versions below this one
    #[arg(long, value_name = "VERSION")]
    below: Option<i64>,
    #[arg(long, default_value_t = 20)]
    limit: usize,
    #[arg(long)]
    json: bool,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let (_, _, ledger) = ledger(desk.here("ingest checkpoints")?, &args.job).await?;
    let entries = ledger.history(&args.slice, args.below, args.limit).await?;
    match args.json {
        true => output::print_json(&entries),
        false => {
            let headings = [">VERSION", "CAUSE", "BY", "AT", ">RECORDS", "POSITION", "HIGH", "DONE"];
            output::print(&output::table(&headings, entries.iter().map(row).collect()));
        }
    }
    Ok(Exit::Passed)
}

fn row(entry: &Entry) -> Vec<String> {
    let shown = |value: &Option<serde_json::Value>| {
        value.as_ref().map_or(String::new(), |value| text::line(&value.to_string(), 40))
    };
    let checkpoint = &entry.checkpoint;
    vec![
        entry.version.to_string(),
        entry.cause.to_string(),
        entry.actor.clone(),
        Timestamp::from(entry.at).to_string(),
        text::count(entry.records),
        shown(&checkpoint.position),
        shown(&checkpoint.high),
        if checkpoint.done { "yes".to_owned() } else { String::new() },
    ]
}
