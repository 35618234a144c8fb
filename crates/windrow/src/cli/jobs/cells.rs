//! `windrow jobs cells`

use windrow_model::ItemId;
use windrow_results::cells::CellState;
use windrow_wire::{CellList, CellView};

use crate::app::cells::CellListing;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::style;

/// List the cells of an experiment: each column in each row, with its state and value
///
/// A cell is pending, running, completed, failed or skipped. With --item and --column: one cell with its whole value.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Only this column: an entry of `columns`, an evaluator, or `output` for a job without `columns`
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Only cells in this state, e.g. `failed`
    #[arg(long, alias = "state", value_name = "STATUS")]
    status: Option<CellState>,
    /// One cell of this item, with its value and record
    #[arg(long, value_name = "ITEM", requires = "column", conflicts_with_all = ["status", "limit", "after"])]
    item: Option<String>,
    /// Number of cells; the last item is listed whole
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR")]
    after: Option<i64>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if let (Some(item), Some(column)) = (&args.item, &args.column) {
        output::show(&api.cell(&args.job, item, column).await?, args.json);
        return Ok(Exit::Passed);
    }
    let (column, after) = (args.column.as_deref(), args.after.map(ItemId));
    let listing = CellListing { column, state: args.status, after, limit: args.limit };
    output::show(&api.cells(&args.job, listing).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for CellList {
    fn text(&self) -> String {
        let more = self
            .next
            .as_ref()
            .map_or(String::new(), |next| format!("\n{}\n", style::dim(format!("more: --after={next}"))));
        if self.cells.is_empty() {
            return format!("No cells match{more}");
        }
        let trials = self.cells.iter().any(|cell| cell.trial > 1);
        let row = |cell: &CellView| {
            let row = match &cell.variant {
                Some(variant) => format!("{} {variant}", cell.row),
                None => cell.row.to_string(),
            };
            vec![
                cell.item.clone(),
                if trials { format!("{row} trial {}", cell.trial) } else { row },
                cell.column.clone(),
                style::status(cell.state.as_str()),
                cell.tries.to_string(),
                cell.duration_ms.map_or("–".into(), text::duration),
                text::line(shown(cell), 80),
            ]
        };
        let headings = [">ITEM", ">ROW", "COLUMN", "STATUS", ">CALLS", ">TIME", "VALUE"];
        output::table(&headings, self.cells.iter().map(row).collect()) + &more
    }
}

/// The value, or why it is missing.
fn shown(cell: &CellView) -> &str {
    let reason = cell.reason.as_deref();
    cell.preview.as_deref().or(reason).unwrap_or_default()
}

impl Show for CellView {
    fn text(&self) -> String {
        let head = format!("{} · {} · {} calls\n", self.id, style::status(self.state.as_str()), self.tries);
        let reason = self.reason.as_ref().map_or(String::new(), |reason| format!("{reason}\n"));
        let value = self.value.as_ref().map_or(String::new(), |value| format!("\n{value}\n"));
        head + &reason + &value
    }
}
