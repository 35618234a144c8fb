//! `windrow ingest progress`

use windrow_wire::IngestProgress;

use crate::app::ingest::OriginFilter;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Show how far ingest jobs have come, by source and operation
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show only jobs of this source
    #[arg(long, value_name = "NAME")]
    provenance: Option<String>,
    /// Show only jobs of this operation
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wanted = OriginFilter { provenance: args.provenance, operation: args.operation };
    output::show(&api.ingest_progress(wanted).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for IngestProgress {
    fn text(&self) -> String {
        let row = |source: &windrow_wire::SourceProgress| {
            let tasks = source.tasks.iter().map(|(status, n)| format!("{} {status}", text::count(*n)));
            let tasks = tasks.collect::<Vec<_>>().join(" · ");
            vec![source.provenance.clone(), source.operation.clone(), text::count(source.plans), tasks]
        };
        output::table(&["SOURCE", "OPERATION", ">PLANS", "TASKS"], self.sources.iter().map(row).collect())
    }
}
