//! `windrow jobs items`

use windrow_model::state::ItemState;
use windrow_model::view::filter;
use windrow_wire::{ItemList, ListedItem, ScoreCell};

use crate::app::items::Listing;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::style;

const FIELDS: &str = "\
Fields: id, row, state, tries, latency_ms, tokens_in, tokens_out, tokens, cost (US dollars), finished_at, \
error (error class), message (with ~ \"part\"), score.NAME (lowest of all turns), verdict.NAME. \
Combine conditions with and, or, not and parentheses. Missing values match only `is null` and sort last.";

/// List the items of a job, with filters and sorting
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Filter by status, e.g. `fail` or `failed`
    #[arg(long, alias = "state", value_name = "STATUS", value_parser = filter::item_state)]
    status: Option<ItemState>,
    /// Filter by expression, e.g. `score.exact < 0.5`
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Sort by a field; a leading `-` sorts in descending order
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    after: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let listing = Listing {
        state: args.status,
        filter: args.condition.as_deref(),
        sort: args.sort.as_deref(),
        after: args.after.as_deref(),
        limit: args.limit,
    };
    output::show(&api.items(&args.job, listing).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for ItemList {
    fn text(&self) -> String {
        let more = self
            .next
            .as_ref()
            .map_or(String::new(), |next| format!("\n{}\n", style::dim(format!("more: --after={next}"))));
        if self.items.is_empty() {
            return format!("No items match{more}");
        }
        let rows = self.items.iter().map(row).collect();
        output::table(&[">ITEM", ">ROW", "STATUS", ">ATTEMPTS", ">LATENCY", ">TOKENS", "SCORES", "ERROR"], rows) + &more
    }
}

fn row(ListedItem { item, scores }: &ListedItem) -> Vec<String> {
    let error = item.error.as_ref();
    vec![
        item.id.clone(),
        (item.ordinal + 1).to_string(),
        if item.removed { format!("{} (removed)", item.status) } else { item.status.clone() },
        item.tries.to_string(),
        item.latency_ms.map_or("–".into(), text::duration),
        text::count(item.usage.tokens_in + item.usage.tokens_out),
        text::line(&scores.iter().map(cell).collect::<Vec<_>>().join(", "), 60),
        error.map_or(String::new(), |e| text::line(&format!("{}: {}", e.class, e.message), 80)),
    ]
}

fn cell(score: &ScoreCell) -> String {
    let value = score.value.map_or_else(|| score.verdict.to_string(), |value| format!("{value:.3}"));
    format!("{} {value}", score.name)
}
