//! `windrow report`, and the files `windrow run --report` writes: a run for CI, for a pull request,
//! for a program.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::app::report::Format;
use crate::app::results::Options;
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};

pub use crate::cli::results::report_target::Target;

/// Write a run report as JUnit, Markdown or JSON
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id; `#N` selects a run
    #[arg(value_name = "JOB[#RUN]")]
    job: String,
    /// Report format
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// Output file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Baseline run [default: the baseline of the run]
    #[arg(long, value_name = "JOB[#RUN]")]
    baseline: Option<String>,
    /// Number of lowest scores to show
    #[arg(long, value_name = "N", default_value_t = crate::cli::WORST)]
    worst: usize,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let options = Options { baseline: args.baseline, worst: args.worst };
    write(api, &args.job, &options, &Target { format: args.format, path: args.output }).await?;
    Ok(Exit::Passed)
}

pub async fn write(api: &Api, run: &str, options: &Options, target: &Target) -> Result<()> {
    let Target { format, path } = target;
    let Some(path) = path else {
        return match api.report(run, options, *format, &mut tokio::io::stdout()).await? {
            // A reader that went away (`| head`) is not an error.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable("on stdout", &error)),
            _ => Ok(()),
        };
    };
    let name = path.display().to_string();
    let mut file = tokio::fs::File::create(path).await.map_err(|error| unwritable(&name, &error))?;
    api.report(run, options, *format, &mut file).await?.map_err(|error| unwritable(&name, &error))
}

fn unwritable(name: &str, error: &std::io::Error) -> Error {
    Error::new(format!("cannot write the report {name}: {error}"), "choose a writable file")
}
