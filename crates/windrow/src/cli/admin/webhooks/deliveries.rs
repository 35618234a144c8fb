//! `windrow webhooks deliveries`, `redeliver`

use windrow_model::HookId;
use windrow_model::hook::{DeliveryFilter, DeliveryState};
use windrow_wire::DeliveryList;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// What was sent to a webhook, what waits, and what came of it, the newest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id of the webhook
    webhook: HookId,
    /// Only in this state (pending, delivered, failed)
    #[arg(long)]
    state: Option<DeliveryState>,
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Continue below this one of an earlier list
    #[arg(long, value_name = "NUMBER")]
    before: Option<i64>,
    #[arg(long)]
    json: bool,
}

/// Send one delivery once more, under the same id; the server does it within a second.
#[derive(Debug, clap::Args)]
pub struct RedeliverArgs {
    /// Number of the delivery
    pub delivery: i64,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { webhook, state, limit, before, json } = args;
    let filter = DeliveryFilter { hook: Some(webhook), state, before, limit };
    output::show(&api.deliveries(webhook, filter).await?, json);
    Ok(Exit::Passed)
}

pub async fn redeliver(api: &Api, args: RedeliverArgs) -> Result<Exit> {
    let again = api.redeliver(args.delivery).await?;
    output::print(&format!("delivery {} is to be sent again as {}", again.id, again.message));
    Ok(Exit::Passed)
}

impl Show for DeliveryList {
    fn text(&self) -> String {
        if self.deliveries.is_empty() {
            return "no deliveries".into();
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
        let headings = [">NUMBER", "EVENT", "STATE", ">TRIES", ">ANSWER", ">TOOK", "NEXT", "ERROR"];
        output::table(&headings, rows.collect())
    }
}
