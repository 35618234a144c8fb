//! `windrow ingest checkpoints`

use windrow_wire::{CheckpointList, CheckpointView};

use crate::app::ingest::ALL;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

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
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let found = api.checkpoints(&args.job, &args.slice, args.below, args.limit.into()).await?;
    output::show(&found, args.json);
    if let (false, Some(next)) = (args.json, found.next) {
        let more = format!("ingest checkpoints {} {} --below {next}", args.job, args.slice);
        eprintln!("more: {}", api.command(&more));
    }
    Ok(Exit::Passed)
}

impl Show for CheckpointList {
    fn text(&self) -> String {
        let headings = [">VERSION", "CAUSE", "BY", "AT", ">RECORDS", "POSITION", "HIGH", "DONE"];
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
