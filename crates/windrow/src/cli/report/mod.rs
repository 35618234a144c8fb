//! `windrow report`, and the files `windrow run --report` writes: a run for CI, for a pull request,
//! for a program.

mod junit;
mod markdown;
mod target;

use std::path::PathBuf;

use super::assess::{Assessment, Wish, assess};
use super::{find, output};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;

pub use target::{Format, Target};

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
    let assessed = assess(app, &run, &Wish { baseline: args.baseline, worst: args.worst }).await?;
    write(app, &assessed, &Target { format: args.format, path: args.output }).await?;
    Ok(Exit::Passed)
}

pub async fn write(app: &App, assessed: &Assessment, target: &Target) -> Result<()> {
    let mut sink = Sink::open(target).await?;
    match target.format {
        Format::Junit => junit::write(app, assessed, &mut sink).await?,
        Format::Markdown => sink.put(&markdown::page(assessed)).await?,
        Format::Json => {
            let text = serde_json::to_string_pretty(&assessed.result(false)).expect("answers serialise to JSON");
            sink.put(&format!("{text}\n")).await?;
        }
    }
    sink.close().await
}

/// Where a report goes, piece by piece.
struct Sink {
    file: Option<(tokio::fs::File, PathBuf)>,
}

impl Sink {
    async fn open(target: &Target) -> Result<Self> {
        let Some(path) = &target.path else { return Ok(Self { file: None }) };
        let file = tokio::fs::File::create(path).await.map_err(|error| unwritable(path, &error))?;
        Ok(Self { file: Some((file, path.clone())) })
    }

    async fn put(&mut self, text: &str) -> Result<()> {
        use tokio::io::AsyncWriteExt;
        match &mut self.file {
            Some((file, path)) => file.write_all(text.as_bytes()).await.map_err(|error| unwritable(path, &error)),
            None => {
                output::print(text);
                Ok(())
            }
        }
    }

    async fn close(self) -> Result<()> {
        use tokio::io::AsyncWriteExt;
        let Some((mut file, path)) = self.file else { return Ok(()) };
        file.flush().await.map_err(|error| unwritable(&path, &error))
    }
}

fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Error {
    Error::new(format!("the report {} cannot be written: {error}", path.display()), "choose a file that may be written")
}
