//! `windrow datasets delete`

use windrow_wire::DatasetDeleted;
use windrow_workloads::dataset::import;

use super::dataset_named::{self, Named};
use super::output::{self, Show};
use super::{counting, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Delete a dataset, or one version of it. Jobs keep the rows they have planned.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME for all of it, or NAME@VERSION
    dataset: Named,
    #[arg(long, default_value = "default")]
    workspace: String,
    #[arg(long)]
    json: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let deleted = dataset_named::drop(app, &args.workspace, &args.dataset).await?;
    counting::while_counting(args.json, || "deleting".to_owned(), import::sweep(&*app.datasets)).await?;
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
