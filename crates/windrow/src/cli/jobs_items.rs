//! `windrow jobs items`

use windrow_model::state::ItemState;
use windrow_wire::ItemList;

use super::output::{self, Show};
use super::text;
use crate::desk::{Desk, ItemsAsked};
use crate::error::Result;
use crate::exit::Exit;

/// The items of a job, as they stand now.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Only items in this state: queued, succeeded, failed, cancelled, skipped
    #[arg(long)]
    state: Option<ItemState>,
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Continue behind this item of an earlier list
    #[arg(long, value_name = "ITEM")]
    after: Option<i64>,
    #[arg(long)]
    json: bool,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let asked = ItemsAsked { state: args.state, after: args.after, limit: args.limit };
    output::show(&desk.items(&args.job, asked).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for ItemList {
    fn text(&self) -> String {
        if self.items.is_empty() {
            return "no items".into();
        }
        let rows = self.items.iter().map(|item| {
            let error = item.error.as_ref();
            vec![
                item.id.clone(),
                (item.ordinal + 1).to_string(),
                item.status.clone(),
                item.tries.to_string(),
                item.latency_ms.map_or("–".into(), text::duration),
                text::count(item.usage.tokens_in + item.usage.tokens_out),
                error.map_or(String::new(), |e| text::line(&format!("{}: {}", e.class, e.message), 80)),
            ]
        });
        let headings = [">ITEM", ">ROW", "STATUS", ">TRIES", ">LATENCY", ">TOKENS", "ERROR"];
        let mut page = output::table(&headings, rows.collect());
        if let Some(next) = self.next {
            page += &format!("\nmore: --after {next}\n");
        }
        page
    }
}
