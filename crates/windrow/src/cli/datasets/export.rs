//! `windrow datasets export`

use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_jobfile::dataset::Format;
use windrow_jobfile::dataset::write::Out;

use crate::app::lookup::DatasetName;
use crate::cli::view::{counting, output};
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};
use crate::text;

/// Write a version of a dataset to a file or to stdout
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME or NAME@VERSION
    dataset: DatasetName,
    /// Format: jsonl, json, csv or parquet [default: by the file name, else jsonl]
    #[arg(long)]
    format: Option<Format>,
    /// Output file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    /// Show no progress, notes or hints
    #[arg(long, short)]
    quiet: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let version = api.dataset(args.workspace.as_deref(), &args.dataset, 0).await?.version;
    let named = DatasetName { name: args.dataset.name.clone(), version: Some(version.version) };
    let format = args.format.or_else(|| args.output.as_deref().and_then(format_of)).unwrap_or(Format::Jsonl);
    let write = async |out: Out| {
        let written = AtomicU64::new(0);
        let say = || said(api, written.load(Ordering::Relaxed) as i64, version.rows);
        let work = api.export(args.workspace.as_deref(), &named, format, out, &written);
        counting::while_counting(args.quiet, say, work).await
    };
    let Some(path) = &args.output else {
        if format == Format::Parquet && std::io::stdout().is_terminal() {
            return Err(Error::new("cannot write Parquet to a terminal", "pass `-o FILE`"));
        }
        write(Box::new(BufWriter::new(std::io::stdout()))).await?;
        return Ok(Exit::Passed);
    };
    // Renamed when complete, so that a partial file is never mistaken for a whole one.
    let unfinished = PathBuf::from(format!("{}.unfinished", path.display()));
    let unwritable = |error: std::io::Error| {
        Error::new(format!("cannot write {}: {error}", path.display()), "choose another file with `-o FILE`")
    };
    let file = File::create(&unfinished).map_err(unwritable)?;
    if let Err(error) = write(Box::new(BufWriter::new(file))).await {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    std::fs::rename(&unfinished, path).map_err(unwritable)?;
    if !args.quiet {
        let rows = text::plural(version.rows, "row");
        output::say(&format!("Exported {}@{}: {rows} to {}", args.dataset.name, version.version, path.display()));
    }
    Ok(Exit::Passed)
}

/// A server tells no rows, only bytes.
fn said(api: &Api, written: i64, rows: i64) -> String {
    match api {
        Api::Local(..) => format!("writing: {} of {} rows", text::count(written), text::count(rows)),
        Api::Remote(_) => format!("writing: {} kB", text::count(written / 1000)),
    }
}

fn format_of(path: &Path) -> Option<Format> {
    Format::by_extension(&path.extension()?.to_str()?.to_lowercase())
}
