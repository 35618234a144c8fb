//! `windrow datasets export`

use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_model::dataset::DatasetVersion;
use windrow_workloads::dataset::Format;
use windrow_workloads::dataset::export::{self, ExportError};
use windrow_workloads::dataset::write::Out;

use super::dataset_named::{self, Named};
use super::{counting, text};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;

/// Write a version to a file, or to stdout.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME or NAME@VERSION
    dataset: Named,
    /// jsonl, json, csv or parquet; what the file's name says, or else jsonl
    #[arg(long)]
    format: Option<Format>,
    /// The file to write; stdout if not given
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[arg(long, default_value = "default")]
    workspace: String,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (_, versions) = dataset_named::dataset(app, &args.workspace, &args.dataset.name).await?;
    let version = dataset_named::choose(&args.dataset, &versions)?;
    let format = args.format.or_else(|| args.output.as_deref().and_then(format_of)).unwrap_or(Format::Jsonl);
    let Some(path) = &args.output else {
        if format == Format::Parquet && std::io::stdout().is_terminal() {
            return Err(Error::new("Parquet is no text for a terminal", "name a file with `-o FILE`"));
        }
        write(app, &version, format, Box::new(BufWriter::new(std::io::stdout())), args.quiet).await?;
        return Ok(Exit::Passed);
    };
    // Beside it first: a file that is there is whole.
    let unfinished = PathBuf::from(format!("{}.unfinished", path.display()));
    let unwritable = |error: std::io::Error| {
        Error::new(format!("{} cannot be written: {error}", path.display()), "choose another file with `-o FILE`")
    };
    let file = File::create(&unfinished).map_err(unwritable)?;
    if let Err(error) = write(app, &version, format, Box::new(BufWriter::new(file)), args.quiet).await {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    std::fs::rename(&unfinished, path).map_err(unwritable)?;
    if !args.quiet {
        let rows = text::plural(version.rows, "row");
        eprintln!("{}@{}: {rows} written to {}", args.dataset.name, version.version, path.display());
    }
    Ok(Exit::Passed)
}

fn format_of(path: &Path) -> Option<Format> {
    Format::by_extension(&path.extension()?.to_str()?.to_lowercase())
}

async fn write(app: &App, version: &DatasetVersion, format: Format, out: Out, quiet: bool) -> Result<()> {
    let written = AtomicU64::new(0);
    let say = || {
        let written = text::count(written.load(Ordering::Relaxed) as i64);
        format!("writing: {written} of {} rows", text::count(version.rows))
    };
    let work = export::export(&*app.datasets, version, format, out, &written);
    match counting::while_counting(quiet, say, work).await {
        Ok(()) => Ok(()),
        // A reader that went away (`| head`) is no error.
        Err(ExportError::File(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(ExportError::Store(error)) => Err(error.into()),
        Err(ExportError::Format(why)) => Err(Error::new(why, "").ending_with(Exit::Usage)),
        Err(error) => Err(Error::new(error.to_string(), "check that the disk has room")),
    }
}
