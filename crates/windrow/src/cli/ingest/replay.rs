//! `windrow ingest replay`

use windrow_wire::ReplayResult;
use windrow_wire::request::Replay;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Write rejected records after all, with the job's latest definition
///
/// A record that still does not fit is rejected again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Replay only records of this slice
    #[arg(long)]
    slice: Option<String>,
    /// Replay only the record with this id; may be repeated
    #[arg(long)]
    id: Vec<i64>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let replayed = api.replay(&args.job, Replay { slice: args.slice, ids: args.id }).await?;
    output::show(&replayed, args.json);
    Ok(Exit::Passed)
}

impl Show for ReplayResult {
    fn text(&self) -> String {
        let fates = [(self.skipped, "skipped"), (self.rejected, "rejected again")];
        let mut parts = vec![format!("{} written", text::count(self.written))];
        parts.extend(fates.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
        let mut page = format!("replayed {} · {}\n", text::plural(self.read, "record"), parts.join(" · "));
        self.type_changes.iter().for_each(|change| page += &format!("type change: {change}\n"));
        page
    }
}
