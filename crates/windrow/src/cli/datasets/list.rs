//! `windrow datasets list`

use windrow_wire::DatasetList;

use crate::cli::view::output::{self, Show};
use crate::cli::view::paging::Paging;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// List datasets and their newest versions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    #[command(flatten)]
    paging: Paging,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let list = api.datasets(args.workspace.as_deref()).await?;
    args.paging.show(list, |list| &mut list.datasets, |dataset| dataset.name.clone(), args.json)?;
    Ok(Exit::Passed)
}

impl Show for DatasetList {
    fn text(&self) -> String {
        if self.datasets.is_empty() {
            return "No datasets yet. Import one with: windrow datasets import FILE".into();
        }
        let rows = self.datasets.iter().map(|dataset| {
            let newest = &dataset.newest;
            vec![
                dataset.name.clone(),
                newest.version.to_string(),
                text::count(newest.rows),
                text::count(dataset.versions),
                text::moment(newest.created_at),
                newest.source.clone(),
            ]
        });
        output::table(&["NAME", ">NEWEST", ">ROWS", ">VERSIONS", "IMPORTED", "FROM"], rows.collect())
    }
}
