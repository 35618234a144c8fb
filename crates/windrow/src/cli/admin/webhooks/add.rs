//! `windrow webhooks create`

use serde::Serialize;
use windrow_wire::{NewWebhook, WebhookSecret};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Create a webhook: signed events are sent to a URL, each at least once
///
/// The signing secret is printed once. Events are `run.submitted`, `run.running`,
/// `run.paused`, `run.completed` …, `items.archived` (results), `items.partial`, `alert.raised` and
/// `alert.cleared`; `run.*` selects a group, `*` all.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Destination URL
    pub url: String,
    /// Events, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "*")]
    events: Vec<String>,
    /// Send only events of this job (name or id)
    #[arg(long)]
    job: Option<String>,
    /// Send only events of this workspace
    #[arg(long)]
    workspace: Option<String>,
    /// Maximum number of results per delivery
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Timeout of a delivery in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<i64>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
#[serde(transparent)]
pub struct Made {
    made: WebhookSecret,
    #[serde(skip)]
    hint: String,
}

impl Made {
    pub fn new(api: &Api, made: WebhookSecret) -> Self {
        let hint = api.command(&format!("webhooks test {}", made.webhook.id));
        Self { made, hint }
    }
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wish = NewWebhook {
        url: args.url,
        events: Some(args.events),
        job: args.job,
        workspace: args.workspace,
        batch: args.batch,
        timeout_seconds: args.timeout,
    };
    output::show(&Made::new(api, api.add_webhook(wish).await?), args.json);
    Ok(Exit::Passed)
}

impl Show for Made {
    fn text(&self) -> String {
        let webhook = &self.made.webhook;
        let facts = output::facts(&[
            ("webhook", webhook.id.clone()),
            ("url", webhook.url.clone()),
            ("events", webhook.events.join(", ")),
            ("secret", self.made.secret.clone()),
        ]);
        format!("{facts}\nCopy the secret now; it is not shown again. Test it with: {}", self.hint)
    }
}
