//! `windrow datasets list`

use serde::Serialize;
use windrow_wire::DatasetSummary;

use super::output::{self, Show};
use super::text;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// All datasets and their newest versions.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long, default_value = "default")]
    workspace: String,
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    datasets: Vec<DatasetSummary>,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let datasets = app.datasets.datasets(&args.workspace).await?.iter().map(DatasetSummary::from).collect();
    output::show(&Answer { datasets }, args.json);
    Ok(Exit::Passed)
}

impl Show for Answer {
    fn text(&self) -> String {
        if self.datasets.is_empty() {
            return "no datasets; import one with `windrow datasets import FILE`".into();
        }
        let rows = self.datasets.iter().map(|dataset| {
            let newest = &dataset.newest;
            vec![
                dataset.name.clone(),
                newest.version.to_string(),
                text::count(newest.rows),
                text::count(dataset.versions),
                newest.created_at.to_string(),
                newest.source.clone(),
            ]
        });
        output::table(&["NAME", ">NEWEST", ">ROWS", ">VERSIONS", "IMPORTED", "FROM"], rows.collect())
    }
}
