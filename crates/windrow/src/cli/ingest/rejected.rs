//! `windrow ingest rejected`

use windrow_wire::{RejectedList, RejectedView};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// List rejected records with their reason
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// List only records of this slice
    #[arg(long)]
    slice: Option<String>,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR")]
    after: Option<i64>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let found = api.rejected(&args.job, args.slice.as_deref(), args.after, args.limit.into()).await?;
    output::show(&found, args.json);
    if let (false, Some(next)) = (args.json, found.next) {
        let slice = args.slice.as_ref().map_or(String::new(), |slice| format!(" --slice {slice}"));
        output::say(&format!("more: {}", api.command(&format!("ingest rejected {}{slice} --after {next}", args.job))));
    }
    Ok(Exit::Passed)
}

impl Show for RejectedList {
    fn text(&self) -> String {
        output::table(&[">ID", "SLICE", "TABLE", "AT", "REASON", "RECORD"], self.rejected.iter().map(row).collect())
    }
}

fn row(record: &RejectedView) -> Vec<String> {
    vec![
        record.id.to_string(),
        record.slice.clone(),
        record.table.clone(),
        record.at.to_string(),
        text::line(&record.reason, 80),
        text::line(&record.record.to_string(), 60),
    ]
}
