//! `windrow datasets diff`

use serde::Serialize;
use windrow_model::Json;
use windrow_workloads::dataset::diff::{self, Diff};

use super::dataset_named::{self, Named};
use super::output::{self, Show};
use super::text;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;

/// What one version has that another has not. Rows with the same field `id` are shown as changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME@VERSION, the older one
    old: Named,
    /// NAME@VERSION; the newest version if not given
    new: Option<Named>,
    /// How many rows of each kind to show
    #[arg(long, default_value_t = 20)]
    limit: usize,
    #[arg(long, default_value = "default")]
    workspace: String,
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    name: String,
    old: i64,
    new: i64,
    added: i64,
    removed: i64,
    changed: i64,
    /// The first of each.
    rows: Rows,
}

#[derive(Serialize)]
struct Rows {
    added: Vec<Json>,
    removed: Vec<Json>,
    changed: Vec<Changed>,
}

#[derive(Serialize)]
struct Changed {
    old: Json,
    new: Json,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let newest = Named { name: args.old.name.clone(), version: None };
    let new = args.new.as_ref().unwrap_or(&newest);
    if new.name != args.old.name {
        let what = format!("{} and {} are different datasets", args.old.name, new.name);
        return Err(Error::new(what, "name two versions of one dataset: A@1 A@2"));
    }
    let (dataset, versions) = dataset_named::dataset(app, &args.workspace, &new.name).await?;
    let (old, new) = (dataset_named::choose(&args.old, &versions)?, dataset_named::choose(new, &versions)?);
    let Diff { added, removed, changed, added_rows, removed_rows, changed_rows } =
        diff::diff(&*app.datasets, (old.id, new.id), args.limit).await?;
    let changed_rows = changed_rows.into_iter().map(|(old, new)| Changed { old, new }).collect();
    let rows = Rows { added: added_rows, removed: removed_rows, changed: changed_rows };
    let answer = Answer { name: dataset.name, old: old.version, new: new.version, added, removed, changed, rows };
    output::show(&answer, args.json);
    Ok(Exit::Passed)
}

impl Show for Answer {
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
        for Changed { old, new } in &rows.changed {
            page += &line("<", old);
            page += &line(">", new);
        }
        let shown = (rows.added.len() + rows.removed.len() + rows.changed.len()) as i64;
        let more = added + removed + changed - shown;
        if more > 0 {
            page += &format!("… and {} more; `--limit` shows more of them\n", text::count(more));
        }
        page
    }
}
