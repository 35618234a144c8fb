//! `windrow datasets diff`

use windrow_model::Json;
use windrow_wire::{ChangedRow, DatasetDiff};

use crate::app::lookup::DatasetName;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};
use crate::text;

/// Show the differences between two versions of a dataset
///
/// Rows with the same field `id` are shown as changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Older version: NAME@VERSION
    old: DatasetName,
    /// Newer version: NAME@VERSION [default: the newest]
    new: Option<DatasetName>,
    /// Maximum number of rows of each kind to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let DatasetName { name, version } = args.old;
    if let Some(new) = args.new.as_ref().filter(|new| new.name != name) {
        let what = format!("{name} and {} are different datasets", new.name);
        return Err(Error::new(what, "name two versions of one dataset: A@1 A@2"));
    }
    let versions = (version, args.new.and_then(|new| new.version));
    let diff = api.diff(args.workspace.as_deref(), &name, versions, args.limit).await?;
    output::show(&diff, args.json);
    Ok(Exit::Passed)
}

impl Show for DatasetDiff {
    fn text(&self) -> String {
        let Self { name, old, new, added, removed, changed, rows } = self;
        let counts = [(added, "added"), (removed, "removed"), (changed, "changed")];
        if counts.iter().all(|(count, _)| **count == 0) {
            return format!("{name}@{old} and {name}@{new} have the same rows");
        }
        let counts = counts.map(|(count, what)| format!("{} {what}", text::count(*count)));
        let mut page = format!("{name}@{old} → {name}@{new}: {}\n", counts.join(", "));
        let line = |sign: &str, row: &Json| format!("{sign} {}\n", text::line(row.as_str(), 160));
        rows.removed.iter().for_each(|row| page += &line("-", row));
        rows.added.iter().for_each(|row| page += &line("+", row));
        for ChangedRow { old, new } in &rows.changed {
            page += &line("<", old);
            page += &line(">", new);
        }
        let shown = (rows.added.len() + rows.removed.len() + rows.changed.len()) as i64;
        let more = added + removed + changed - shown;
        if more > 0 {
            page += &format!("… {} more (--limit N)\n", text::count(more));
        }
        page
    }
}
