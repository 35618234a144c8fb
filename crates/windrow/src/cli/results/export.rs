//! `windrow export`

use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_jobfile::dataset::write::Out;

use crate::app::export::{Format, Request};
use crate::cli::results::table::numbered;
use crate::cli::view::{counting, output};
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};
use crate::text;

/// Write all results of a job to JSONL, CSV, Parquet or HTML
///
/// Texts are complete. A job that is running can be exported, too: every item is written once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id; `#N` selects the results of one run
    #[arg(value_name = "JOB[#RUN]")]
    job: String,
    /// Format: jsonl, csv, parquet or html [default: by the file name, else jsonl]
    #[arg(long)]
    format: Option<Format>,
    /// Output file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Filter by expression, e.g. `outcome = fail`
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Columns to write, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Write a row per attempt instead of a row per item
    #[arg(long)]
    attempts: bool,
    /// Baseline of the HTML page: `JOB#RUN`, `#RUN` of the same job, or `variant NAME`
    #[arg(long, value_name = "BASELINE")]
    vs: Option<String>,
    /// Show no progress, notes or hints
    #[arg(long, short)]
    quiet: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let (job, run) = numbered(&args.job);
    let format = args.format.or_else(|| args.output.as_deref().and_then(format_of)).unwrap_or(Format::Jsonl);
    let request =
        Request { run, condition: args.condition, columns: args.columns, attempts: args.attempts, vs: args.vs };
    let write = async |out: Out| {
        let written = AtomicU64::new(0);
        let say = || format!("writing: {}", progress(api, written.load(Ordering::Relaxed) as i64));
        let work = Box::pin(api.export_results(&job, format, &request, out, &written));
        let columns = counting::while_counting(args.quiet, say, work).await?;
        Ok::<_, Error>((columns, written.into_inner() as i64))
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
    let (columns, rows) = match write(Box::new(BufWriter::new(file))).await {
        Ok(done) => done,
        Err(error) => {
            let _ = std::fs::remove_file(&unfinished);
            return Err(error);
        }
    };
    std::fs::rename(&unfinished, path).map_err(unwritable)?;
    if !args.quiet {
        let bytes = std::fs::metadata(path).map_err(unwritable)?.len();
        let what = match (api, columns) {
            (Api::Remote(_), _) => String::new(),
            (_, Some(columns)) => format!(" {}, {}", text::plural(rows, "row"), text::plural(columns as i64, "column")),
            (_, None) => format!(" {}", text::plural(rows, "row")),
        };
        output::say(&format!("Exported{what} to {} ({})", path.display(), size(bytes)));
    }
    Ok(Exit::Passed)
}

/// A server tells no rows, only bytes.
fn progress(api: &Api, written: i64) -> String {
    match api {
        Api::Local(..) => text::plural(written, "row"),
        Api::Remote(_) => size(written as u64),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn format_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "ndjson" => Some(Format::Jsonl),
        "pq" => Some(Format::Parquet),
        "htm" => Some(Format::Html),
        name => name.parse().ok(),
    }
}
