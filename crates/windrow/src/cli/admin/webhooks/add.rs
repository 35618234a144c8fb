//! `windrow webhooks add`

use serde::Serialize;
use windrow_wire::{NewWebhook, WebhookSecret};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Have events sent to a URL, signed, at least once each.
///
/// The secret that checks the signatures is shown this once. Events are `run.submitted`, `run.running`,
/// `run.paused`, `run.completed` …, `items.archived` (results), `items.partial`, `alert.raised` and
/// `alert.cleared`; `run.*` is a family, `*` is all.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to
    pub url: String,
    /// Which events; several with commas
    #[arg(long, value_delimiter = ',', default_value = "*")]
    events: Vec<String>,
    /// Only of this job (name or id)
    #[arg(long)]
    job: Option<String>,
    /// Only of this workspace
    #[arg(long)]
    workspace: Option<String>,
    /// Results in one delivery, at most; 1 sends each on its own
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// How long the endpoint may take to answer, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<i64>,
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
        format!("{facts}\nkeep the secret, it is not shown again; try it with: {}", self.hint)
    }
}
