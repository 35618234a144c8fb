//! `windrow datasets delete`

use windrow_wire::DatasetDeleted;

use crate::app::lookup::DatasetName;
use crate::cli::confirm::Precautions;
use crate::cli::view::counting;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Delete a dataset, or one version of it
///
/// Jobs keep the rows that they have already planned.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME for all versions, or NAME@VERSION
    pub dataset: DatasetName,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    #[command(flatten)]
    precautions: Precautions,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

fn confirm(args: &Args) -> Result<bool> {
    let DatasetName { name, version } = &args.dataset;
    let what = match version {
        Some(version) => format!("version {version} of dataset {name:?}"),
        None => format!("dataset {name:?} with all its versions"),
    };
    args.precautions.ask(&format!("delete {what}"), "This cannot be undone.", "delete")
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if !confirm(&args)? {
        return Ok(Exit::Passed);
    }
    let deleting = api.delete_dataset(args.workspace.as_deref(), &args.dataset);
    let deleted = counting::while_counting(args.json, || "deleting".to_owned(), deleting).await?;
    output::show(&deleted, args.json);
    Ok(Exit::Passed)
}

impl Show for DatasetDeleted {
    fn text(&self) -> String {
        match self.versions.as_slice() {
            [one] => format!("Deleted {}@{one}.", self.name),
            all => format!("Deleted {} of {}.", text::plural(all.len() as i64, "version"), self.name),
        }
    }
}
