//! `windrow ingest diff`

use serde_json::Value;
use windrow_operation::differences;

use crate::app::ingest::ALL;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};

/// Show the differences between two checkpoints of a slice
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Version of the earlier checkpoint
    before: i64,
    /// Version of the later checkpoint
    after: i64,
    /// Slice name, from `ingest lineage`
    #[arg(long, default_value = ALL)]
    slice: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let (before, after) = (find(api, &args, args.before).await?, find(api, &args, args.after).await?);
    let found = differences(&before, &after);
    match (args.json, found.is_empty()) {
        (true, _) => output::print_json(&found),
        (false, true) => output::print("No differences."),
        (false, false) => output::print(&found.join("\n")),
    }
    Ok(Exit::Passed)
}

/// Where it stood, without who made it and when.
async fn find(api: &Api, args: &Args, version: i64) -> Result<Value> {
    let below = Some(version.saturating_add(1));
    let found = api.checkpoints(&args.job, &args.slice, below, 1).await?.checkpoints.pop();
    let missing = || {
        let remedy = api.command(&format!("ingest checkpoints {} {}", args.job, args.slice));
        Error::new(format!("slice {:?} has no checkpoint with version {version}", args.slice), remedy)
    };
    let found = found.filter(|checkpoint| checkpoint.version == version).ok_or_else(missing)?;
    let mut fields = serde_json::to_value(&found).unwrap_or_default();
    if let Value::Object(fields) = &mut fields {
        fields.retain(|name, _| !["version", "key", "cause", "actor", "at", "records"].contains(&name.as_str()));
    }
    Ok(fields)
}
