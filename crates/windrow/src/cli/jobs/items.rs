//! `windrow jobs items`

use windrow_model::state::ItemState;
use windrow_wire::{ItemList, ListedItem, ScoreCell};

use crate::app::items::Listing;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

const EXAMPLES: &str = "\
Examples:
  windrow jobs items capitals --state failed
  windrow jobs items capitals --where 'state = failed and error in (timeout, server)'
  windrow jobs items capitals --where 'score.exact < 0.5 or verdict.judge = error' --sort score.exact
  windrow jobs items capitals --sort=-latency_ms --limit 10

Fields: id, row, state, tries, latency_ms, tokens_in, tokens_out, tokens, cost (dollars), finished_at,
error (its class), message (with ~ \"part\"), score.NAME (the lowest of the turns), verdict.NAME.
Join them with and, or, not and brackets. What is not there (no score, no error) is not zero: it fits no
comparison, only `is null`, and comes last in every order.
";

/// The items of a job, as they stand now.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Only items in this state: queued, succeeded, failed, cancelled, skipped
    #[arg(long)]
    state: Option<ItemState>,
    /// Only items of which this holds
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// By this field; with `-` before it the highest first
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    sort: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Continue behind this place of an earlier list
    #[arg(long, value_name = "NEXT", allow_hyphen_values = true)]
    after: Option<String>,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let listing = Listing {
        state: args.state,
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
        let more = self.next.as_ref().map_or(String::new(), |next| format!("\nmore: --after={next}\n"));
        if self.items.is_empty() {
            return format!("no items{more}");
        }
        let rows = self.items.iter().map(row).collect();
        output::table(&[">ITEM", ">ROW", "STATUS", ">TRIES", ">LATENCY", ">TOKENS", "SCORES", "ERROR"], rows) + &more
    }
}

fn row(ListedItem { item, scores }: &ListedItem) -> Vec<String> {
    let error = item.error.as_ref();
    vec![
        item.id.clone(),
        (item.ordinal + 1).to_string(),
        item.status.clone(),
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
