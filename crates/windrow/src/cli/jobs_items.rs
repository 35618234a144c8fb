//! `windrow jobs items`

use serde::Serialize;
use windrow_model::ItemId;
use windrow_model::state::ItemState;
use windrow_model::store::ItemFilter;
use windrow_wire::ItemRow;

use super::output::{self, Show};
use super::{find, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

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

#[derive(Serialize)]
struct Answer {
    items: Vec<ItemRow>,
    /// Pass it as `--after` for what follows; null at the end.
    next: Option<i64>,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::job(app, &args.job).await?;
    let after = args.after.map(ItemId);
    let filter = ItemFilter { job: job.id, run: None, state: args.state, after, limit: args.limit };
    let found = app.store.items(filter).await?;
    let next = found.last().filter(|_| found.len() == args.limit).map(|item| item.id.0);
    let items = found.iter().map(|item| ItemRow::of(&job.kind, run.mode, item)).collect();
    output::show(&Answer { items, next }, args.json);
    Ok(Exit::Passed)
}

impl Show for Answer {
    fn text(&self) -> String {
        if self.items.is_empty() {
            return "no items".into();
        }
        let rows = self.items.iter().map(|item| {
            let error = item.error.as_ref();
            vec![
                item.id.clone(),
                (item.ordinal + 1).to_string(),
                item.status.into(),
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
