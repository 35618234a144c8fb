//! `windrow webhooks test`

use windrow_model::HookId;
use windrow_wire::TryView;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Send a signed `ping` and show the response
///
/// The exit code is 1 if the endpoint did not accept it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Webhook id, from `windrow webhooks list`
    webhook: HookId,
    /// Print JSON to stdout
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
            (None, Some(status)) => format!("Accepted: {status} after {} ms", self.latency_ms),
            (error, _) => {
                let why = error.as_deref().unwrap_or("no response");
                format!("Not accepted after {} ms: {why}", self.latency_ms)
            }
        }
    }
}
