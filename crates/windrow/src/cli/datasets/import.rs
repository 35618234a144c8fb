//! `windrow datasets import`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windrow_jobfile::dataset::import::{ImportFile, Progress};
use windrow_jobfile::dataset::{DatasetFile, Format, RowSchema};
use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_wire::{DatasetImported, VersionView};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::datasets::{self, Head};
use crate::app::lookup::check_dataset_name;
use crate::cli::Context;
use crate::cli::view::counting;
use crate::cli::view::output::{self, Show};
use crate::client::remote::{Remote, Upload};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;

/// Import a file as a new version of a dataset
///
/// Every row is validated before anything is stored. Versions are identified by content: the same rows in another
/// order are the same version.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File: CSV, JSONL, JSON, YAML or Parquet
    file: PathBuf,
    /// Dataset name [default: the file name]
    #[arg(long, value_parser = check_dataset_name)]
    name: Option<String>,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    /// JSON Schema that every row must satisfy, in this and later versions
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// File format [default: by the file name]
    #[arg(long)]
    format: Option<Format>,
    /// Field delimiter of a CSV file
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<char>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
    /// Show no progress, notes or hints
    #[arg(long, short)]
    quiet: bool,
}

pub async fn perform(context: &Context, args: Args) -> Result<Exit> {
    let file = located(&args)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name_of(&file.path)?,
    };
    let imported = match &context.remote {
        Some(remote) => import_far(remote, file, name, &args).await?,
        None => import_here(&context.options, file, name, &args).await?,
    };
    output::show(&imported, args.json);
    Ok(Exit::Passed)
}

async fn import_far(remote: &Remote, file: DatasetFile, name: String, args: &Args) -> Result<DatasetImported> {
    let shown = args.file.display().to_string();
    let (workspace, schema) = (args.workspace.clone(), args.schema.clone());
    let upload = Upload { file, shown: shown.clone(), name, workspace, schema };
    counting::while_counting(args.quiet, || format!("sending {shown}"), remote.import(upload)).await
}

async fn import_here(options: &GlobalOptions, file: DatasetFile, name: String, args: &Args) -> Result<DatasetImported> {
    let workspace = args.workspace.clone().unwrap_or_else(|| DEFAULT_WORKSPACE.to_owned());
    let given = args.schema.as_deref().map(RowSchema::from_file).transpose()?;
    let existing = App::open_if_there(options).await?;
    let kept = match &existing {
        Some(app) => datasets::kept_schema(app, &workspace, &name).await?,
        None => None,
    };
    let file = Arc::new(ImportFile { file, shown: args.file.display().to_string(), schema: given.or(kept) });
    let progress = Arc::new(Progress::default());
    let checking = file.clone().check(progress.clone());
    let checked = counting::while_counting(args.quiet, || said(&progress), checking).await?;
    // A folder is made only for rows that are in order.
    let app = match existing {
        Some(app) => app,
        None => App::create(options).await?,
    };
    let source = args.file.display().to_string();
    let (app, progress) = (&app, &progress);
    let resource = name.clone();
    let store = |change| async move {
        let head = Head { workspace, name, source };
        let storing = datasets::import(app, &change, file, checked, head, progress);
        counting::while_counting(args.quiet, || said(progress), storing).await
    };
    app.act(&Actor::local(), "datasets import", &resource, store).await
}

fn located(args: &Args) -> Result<DatasetFile> {
    let usage = |what: String, remedy: String| Error::new(what, remedy).ending_with(Exit::Usage);
    if args.delimiter.is_some_and(|delimiter| !delimiter.is_ascii()) {
        return Err(usage("the delimiter must be one ASCII character".into(), "for example `,` or `;`".into()));
    }
    if !args.file.is_file() {
        return Err(usage(format!("file {} not found", args.file.display()), "check the path".into()));
    }
    DatasetFile::named(args.file.clone(), args.format, args.delimiter).ok_or_else(|| {
        let what = format!("unknown format: {}", args.file.display());
        usage(what, format!("add `--format`, one of {}", Format::list()))
    })
}

fn name_of(path: &Path) -> Result<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    check_dataset_name(&stem).map_err(|why| {
        let what = format!("{stem:?} is not a valid dataset name: {why}");
        Error::new(what, "pass `--name NAME`").ending_with(Exit::Usage)
    })
}

fn said(progress: &Progress) -> String {
    let read = |count: &std::sync::atomic::AtomicU64| text::count(count.load(Ordering::Relaxed) as i64);
    match progress.total.load(Ordering::Relaxed) {
        0 => format!("checking: {} rows", read(&progress.checked)),
        total => format!("storing: {} of {} rows", read(&progress.stored), text::count(total as i64)),
    }
}

impl Show for DatasetImported {
    fn text(&self) -> String {
        let VersionView { version, rows, .. } = &self.version;
        let rows = text::plural(*rows, "row");
        match self.unchanged {
            true => format!("{}@{version} is unchanged: {rows}", self.name),
            false => format!("Imported {}@{version}: {rows}", self.name),
        }
    }
}
