//! `windrow webhooks list`

use windrow_wire::WebhookList;

use crate::cli::view::output::{self, Show};
use crate::cli::view::paging::Paging;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// List webhooks, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paging: Paging,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let list = api.webhooks().await?;
    args.paging.show(list, |list| &mut list.webhooks, |webhook| webhook.id.clone(), args.json)?;
    Ok(Exit::Passed)
}

impl Show for WebhookList {
    fn text(&self) -> String {
        if self.webhooks.is_empty() {
            return "No webhooks yet. Create one with: windrow webhooks create URL".into();
        }
        let rows = self.webhooks.iter().map(|webhook| {
            let of = webhook.job.clone().or(webhook.workspace.clone()).unwrap_or_else(|| "all".into());
            let state = match &webhook.reason {
                Some(reason) => format!("{} ({reason})", webhook.state),
                None => webhook.state.to_string(),
            };
            let (events, failures) = (webhook.events.join(","), webhook.failures.to_string());
            vec![webhook.url.clone(), events, of, state, failures, webhook.id.clone()]
        });
        output::table(&["URL", "EVENTS", "SCOPE", "STATE", ">FAILURES", "ID"], rows.collect())
    }
}
