//! `windrow webhooks test`

use windrow_model::HookId;
use windrow_wire::TryView;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Send a signed `ping` now and say what the endpoint answered. Exit code 1 when it did not take it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id of the webhook
    webhook: HookId,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let tried = api.ping_webhook(args.webhook).await?;
    output::show(&tried, args.json);
    Ok(if tried.error.is_none() { Exit::Passed } else { Exit::Error })
}

impl Show for TryView {
    fn text(&self) -> String {
        match (&self.error, self.status) {
            (None, Some(status)) => format!("taken: {status} after {} ms", self.latency_ms),
            (error, _) => {
                let why = error.as_deref().unwrap_or("no answer");
                format!("not taken after {} ms: {why}", self.latency_ms)
            }
        }
    }
}
