//! `windrow datasets delete`

use serde::Serialize;
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
    pub dataset: Named,
    #[arg(long, default_value = "default")]
    workspace: String,
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Deleted {
    name: String,
    versions: Vec<i64>,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (dataset, mut versions) = dataset_named::dataset(app, &args.workspace, &args.dataset.name).await?;
    if args.dataset.version.is_some() {
        versions = vec![dataset_named::choose(&args.dataset, &versions)?];
    }
    for version in &versions {
        app.datasets.drop_version(version.id).await?;
    }
    counting::while_counting(args.json, || "deleting".to_owned(), import::sweep(&*app.datasets)).await?;
    let versions = versions.iter().map(|version| version.version).collect();
    output::show(&Deleted { name: dataset.name, versions }, args.json);
    Ok(Exit::Passed)
}

impl Show for Deleted {
    fn text(&self) -> String {
        match self.versions.as_slice() {
            [one] => format!("deleted {}@{one}", self.name),
            all => format!("deleted {} of {}", text::plural(all.len() as i64, "version"), self.name),
        }
    }
}
