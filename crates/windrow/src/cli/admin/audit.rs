//! `windrow audit`

use windrow_model::audit::{AuditFilter, Verdict};
use windrow_wire::{AuditList, Timestamp};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Show the audit log
///
/// Lists changes made over HTTP and by commands, newest first, including rejected ones.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Filter by actor: the name of an API key or of a local user
    #[arg(long)]
    actor: Option<String>,
    /// Filter by text in the operation, the resource or the detail
    #[arg(long, value_name = "TEXT")]
    what: Option<String>,
    /// Filter by outcome: done, refused or failed
    #[arg(long)]
    outcome: Option<Verdict>,
    /// Only entries from this time on, e.g. 2026-01-31T06:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Only entries before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// Filter by workspace
    #[arg(long)]
    workspace: Option<String>,
    /// Cursor printed by the previous page
    #[arg(long, alias = "before", value_name = "CURSOR")]
    after: Option<i64>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { actor, what, outcome, since, until, workspace, after, limit, json } = args;
    let (since, until) = (since.map(Into::into), until.map(Into::into));
    let filter = AuditFilter { workspace, actor, what, verdict: outcome, since, until, before: after, limit };
    output::show(&api.audit(filter).await?, json);
    Ok(Exit::Passed)
}

fn time(text: &str) -> Result<Timestamp, String> {
    serde_json::from_value(text.into()).map_err(|error: serde_json::Error| error.to_string())
}

impl Show for AuditList {
    fn text(&self) -> String {
        if self.entries.is_empty() {
            return "No entries.".into();
        }
        let rows = self.entries.iter().map(|entry| {
            vec![
                entry.id.to_string(),
                entry.at.to_string(),
                entry.actor.clone(),
                entry.operation.clone(),
                entry.resource.clone(),
                entry.outcome.clone(),
                entry.detail.clone(),
                entry.via.clone(),
                entry.address.clone().unwrap_or_default(),
            ]
        });
        let headings = [">ID", "AT", "ACTOR", "OPERATION", "RESOURCE", "OUTCOME", "DETAIL", "VIA", "FROM"];
        let mut text = output::table(&headings, rows.collect());
        if let Some(next) = self.next {
            text += &format!("\nmore: windrow audit --after {next}\n");
        }
        text
    }
}
