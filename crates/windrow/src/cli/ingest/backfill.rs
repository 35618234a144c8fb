//! `windrow ingest backfill`

use windrow_wire::BackfillPreview;
use windrow_wire::request::Backfill;

use crate::cli::confirm;
use crate::cli::run::follow;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Fetch slices again from their start, ignoring checkpoints
///
/// Records with a key are upserted. Without a range all slices are fetched; with one, every slice that overlaps
/// it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Start of the range: a time (2026-01-31, 2026-01-31T06:00:00Z) or a key
    #[arg(long)]
    from: Option<String>,
    /// End of the range (exclusive): a time or a key
    #[arg(long)]
    to: Option<String>,
    /// Fetch only this slice; may be repeated
    #[arg(long)]
    slice: Vec<String>,
    /// List the slices without fetching them
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wish = Backfill { from: args.from, to: args.to, slices: args.slice, dry_run: args.dry_run };
    if args.dry_run {
        let preview = api.preview_backfill(&args.job, wish).await?;
        match args.shown.json {
            true => output::print_json(&preview),
            false => confirm::would(&what(&preview)),
        }
        return Ok(Exit::Passed);
    }
    let run = api.backfill(&args.job, wish).await?;
    let name = api.name_of(&args.job).await?;
    follow::to_end(api, &name, &run, false, args.shown).await
}

fn what(BackfillPreview { total, slices }: &BackfillPreview) -> String {
    let rows = slices.iter().map(|slice| vec![slice.name.clone(), text::count(slice.records)]);
    let more = match *total - slices.len() as i64 {
        0 => String::new(),
        more => format!("\nand {} more", text::plural(more, "slice")),
    };
    let table = output::table(&["SLICE", "RECORDS OF ITS LAST RUN"], rows.collect());
    format!("fetch {} again:\n{}{more}", text::plural(*total, "slice"), table.trim_end())
}
