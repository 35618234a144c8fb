//! `windrow check FILE`: all that is looked at before a run is stored (E4), and nothing more.

use std::path::PathBuf;

use serde::Serialize;

use super::output::{self, Show};
use super::{run, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::site::Site;
use crate::wiring::App;

/// Say whether a job file and its dataset are in order.
///
/// Reads the file, the whole dataset and the environment, and reports every problem with its place.
/// Nothing is called and nothing is stored.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job file (YAML)
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct InOrder {
    job: String,
    kind: &'static str,
    items: u64,
    warnings: Vec<String>,
}

impl Show for InOrder {
    fn text(&self) -> String {
        let items = i64::try_from(self.items).unwrap_or(i64::MAX);
        format!("{}: in order, {}\n", self.job, text::plural(items, "item"))
    }
}

pub async fn perform(site: &Site, args: Args) -> Result<Exit> {
    let existing = App::open_if_there(site).await?;
    let job = run::load(site, args.file, existing.as_ref()).await?;
    for warning in &job.warnings {
        eprintln!("warning: {warning}");
    }
    output::show(&InOrder { job: job.name, kind: job.kind, items: job.rows, warnings: job.warnings }, args.json);
    Ok(Exit::Passed)
}
