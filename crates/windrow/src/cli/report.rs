//! `windrow report`, and the files `windrow run --report` writes: a run for CI, for a pull request,
//! for a program.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::assess::{Assessment, Wish, assess};
use super::find;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::report::{self, Format, ReportError};
use crate::wiring::App;

pub use super::report_target::Target;

/// Write what a run found as a report: for CI, for a pull request, for a program.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job, with #N for one of its runs
    #[arg(value_name = "JOB[#RUN]")]
    job: String,
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// The file; stdout without it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Compare with this run instead of the job's own baseline
    #[arg(long, value_name = "JOB[#RUN]")]
    baseline: Option<String>,
    /// How many of the worst findings to show
    #[arg(long, default_value_t = super::WORST)]
    worst: usize,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (_, run) = find::run(app, &args.job).await?;
    let assessed = assess(app, &run, &Wish { baseline: args.baseline, within: None, worst: args.worst }).await?;
    write(app, &assessed, &Target { format: args.format, path: args.output }).await?;
    Ok(Exit::Passed)
}

pub async fn write(app: &App, assessed: &Assessment, target: &Target) -> Result<()> {
    let written = match &target.path {
        None => report::write(app, assessed, target.format, &mut tokio::io::stdout()).await,
        Some(path) => match tokio::fs::File::create(path).await {
            Ok(mut file) => report::write(app, assessed, target.format, &mut file).await,
            Err(error) => Err(error.into()),
        },
    };
    match written {
        // A reader that went away (`| head`) is no error.
        Err(ReportError::Written(error)) if target.path.is_none() && error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(ReportError::Written(error)) => {
            let name = target.path.as_ref().map_or("on stdout".to_owned(), |path| path.display().to_string());
            let what = format!("the report {name} cannot be written: {error}");
            Err(Error::new(what, "choose a file that may be written"))
        }
        Err(ReportError::Store(error)) => Err(error.into()),
        Ok(()) => Ok(()),
    }
}
