//! `windrow audit`

use windrow_model::audit::AuditFilter;
use windrow_wire::AuditList;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Who changed what, newest first: over HTTP and by commands, also what was turned away.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only what this actor did: the name of a key, or of a user of this machine
    #[arg(long)]
    actor: Option<String>,
    /// Only what was done by callers of this workspace
    #[arg(long)]
    workspace: Option<String>,
    /// Continue below this entry
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { actor, workspace, before, limit, json } = args;
    output::show(&api.audit(AuditFilter { workspace, actor, before, limit }).await?, json);
    Ok(Exit::Passed)
}

impl Show for AuditList {
    fn text(&self) -> String {
        if self.entries.is_empty() {
            return "nothing was changed yet".into();
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
        let headings = [">ID", "AT", "WHO", "OPERATION", "RESOURCE", "OUTCOME", "DETAIL", "VIA", "FROM"];
        let mut text = output::table(&headings, rows.collect());
        if let Some(next) = self.next {
            text += &format!("\nmore: windrow audit --before {next}\n");
        }
        text
    }
}
