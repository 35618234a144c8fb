//! `windrow ingest diff`

use serde_json::Value;
use windrow_workloads::operation::differences;

use super::{ALL, ledger};
use crate::cli::output;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

/// What differs between two checkpoints of a slice.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    before: i64,
    after: i64,
    #[arg(long, default_value = ALL)]
    slice: String,
    #[arg(long)]
    json: bool,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let (_, _, ledger) = ledger(desk.here("ingest diff")?, &args.job).await?;
    let of = |entry: &windrow_model::ingest::Entry| serde_json::to_value(&entry.checkpoint).unwrap_or(Value::Null);
    let (before, after) = (ledger.entry(&args.slice, args.before).await?, ledger.entry(&args.slice, args.after).await?);
    let found = differences(&of(&before), &of(&after));
    match (args.json, found.is_empty()) {
        (true, _) => output::print_json(&found),
        (false, true) => output::print("they are the same"),
        (false, false) => output::print(&found.join("\n")),
    }
    Ok(Exit::Passed)
}
