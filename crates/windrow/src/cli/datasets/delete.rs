//! `windrow datasets delete`

use windrow_wire::DatasetDeleted;

use crate::app::lookup::DatasetName;
use crate::cli::view::counting;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Delete a dataset, or one version of it. Jobs keep the rows they have planned.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME for all of it, or NAME@VERSION
    pub dataset: DatasetName,
    /// `default` if not given; at a server that of the API key
    #[arg(long)]
    workspace: Option<String>,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let deleting = api.delete_dataset(args.workspace.as_deref(), &args.dataset);
    let deleted = counting::while_counting(args.json, || "deleting".to_owned(), deleting).await?;
    output::show(&deleted, args.json);
    Ok(Exit::Passed)
}

impl Show for DatasetDeleted {
    fn text(&self) -> String {
        match self.versions.as_slice() {
            [one] => format!("deleted {}@{one}", self.name),
            all => format!("deleted {} of {}", text::plural(all.len() as i64, "version"), self.name),
        }
    }
}
