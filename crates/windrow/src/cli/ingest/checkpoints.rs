//! `windrow ingest checkpoints`

use windrow_wire::{CheckpointList, CheckpointView};

use crate::app::ingest::ALL;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// List the checkpoints of a slice, newest first
///
/// A checkpoint is stored in the destination, in the transaction of the batch that wrote it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Slice name, from `ingest lineage`
    #[arg(default_value = ALL)]
    slice: String,
    /// Cursor printed by the previous page
    #[arg(long, alias = "below", value_name = "CURSOR")]
    after: Option<i64>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let found = api.checkpoints(&args.job, &args.slice, args.after, args.limit.into()).await?;
    output::show(&found, args.json);
    if let (false, Some(next)) = (args.json, found.next) {
        let more = format!("ingest checkpoints {} {} --after {next}", args.job, args.slice);
        output::say(&format!("more: {}", api.command(&more)));
    }
    Ok(Exit::Passed)
}

impl Show for CheckpointList {
    fn text(&self) -> String {
        let headings = [">VERSION", "CAUSE", "BY", "AT", ">RECORDS", "CURSOR", "HIGH-WATER MARK", "DONE"];
        output::table(&headings, self.checkpoints.iter().map(row).collect())
    }
}

fn row(checkpoint: &CheckpointView) -> Vec<String> {
    let shown = |value: &Option<serde_json::Value>| {
        value.as_ref().map_or(String::new(), |value| text::line(&value.to_string(), 40))
    };
    vec![
        checkpoint.version.to_string(),
        checkpoint.cause.to_string(),
        checkpoint.actor.clone(),
        checkpoint.at.to_string(),
        text::count(checkpoint.records),
        shown(&checkpoint.position),
        shown(&checkpoint.high),
        if checkpoint.done { "yes".to_owned() } else { String::new() },
    ]
}
