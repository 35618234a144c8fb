//! `windrow webhooks deliveries`, `redeliver`

use windrow_model::HookId;
use windrow_model::hook::{DeliveryFilter, DeliveryState};
use windrow_wire::DeliveryList;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// List the deliveries of a webhook, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Webhook id, from `windrow webhooks list`
    webhook: HookId,
    /// Filter by status: pending, delivered, failed
    #[arg(long, alias = "state", value_name = "STATUS")]
    status: Option<DeliveryState>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Cursor: the number of the last delivery of the previous page
    #[arg(long, alias = "before", value_name = "CURSOR")]
    after: Option<i64>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Send a delivery again with the same id
///
/// The server sends it within a second.
#[derive(Debug, clap::Args)]
pub struct RedeliverArgs {
    /// Delivery number, from `windrow webhooks deliveries`
    pub delivery: i64,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { webhook, status, limit, after, json } = args;
    let filter = DeliveryFilter { hook: Some(webhook), state: status, before: after, limit };
    output::show(&api.deliveries(webhook, filter).await?, json);
    Ok(Exit::Passed)
}

pub async fn redeliver(api: &Api, args: RedeliverArgs) -> Result<Exit> {
    let again = api.redeliver(args.delivery).await?;
    output::print(&format!("Delivery {} will be sent again as {}", again.id, again.message));
    Ok(Exit::Passed)
}

impl Show for DeliveryList {
    fn text(&self) -> String {
        if self.deliveries.is_empty() {
            return "No deliveries.".into();
        }
        let rows = self.deliveries.iter().map(|delivery| {
            let last = delivery.log.last();
            let answered = last.and_then(|tried| tried.status).map_or(String::new(), |status| status.to_string());
            let latency = last.map_or(String::new(), |tried| format!("{} ms", tried.latency_ms));
            let error = last.and_then(|tried| tried.error.clone()).unwrap_or_default();
            let next = delivery.next_at.map_or(String::new(), |at| at.to_string());
            let (id, tries) = (delivery.id.to_string(), delivery.tries.to_string());
            vec![id, delivery.event.clone(), delivery.state.to_string(), tries, answered, latency, next, error]
        });
        let headings = [">NUMBER", "EVENT", "STATE", ">ATTEMPTS", ">RESPONSE", ">LATENCY", "NEXT", "ERROR"];
        output::table(&headings, rows.collect())
    }
}
