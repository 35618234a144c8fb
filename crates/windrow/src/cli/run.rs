//! `windrow run FILE`: load, decide what running it means now, execute it here, show the result.

use std::path::{Path, PathBuf};

use windrow_workloads::{LoadedJob, job_file};

use super::assess::Wish;
use super::choose::{self, Course};
use super::execute::{self, Ending};
use super::progress::Progress;
use super::report::Target;
use super::{find, result};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;

/// Run a job file, or continue it where it was interrupted.
///
/// The first run stores the job under its name. Running the same file again continues an unfinished
/// run; after a finished one it makes a new run in which everything unchanged is taken over, not
/// paid for again. Ctrl-C once lets the running items finish, twice stops at once; both can be
/// continued.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job file (YAML)
    file: PathBuf,
    /// Start afresh: end an unfinished run and do everything again, also what was done before
    #[arg(long)]
    new: bool,
    /// Print one JSON object at the end, and nothing else on stdout
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Compare with this run instead of the job's previous one
    #[arg(long, value_name = "JOB[#RUN]")]
    baseline: Option<String>,
    /// How many of the worst findings to show
    #[arg(long, value_name = "N", default_value_t = super::WORST)]
    worst: usize,
    /// Write a report when the run has ended: junit=FILE, markdown=FILE or json=FILE; may be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    report: Vec<Target>,
}

pub async fn perform(data: &Path, args: Args) -> Result<Exit> {
    let job = load(args.file.clone()).await?;
    for warning in &job.warnings {
        eprintln!("warning: {warning}");
    }
    let app = App::create(data).await?;
    if let Some(baseline) = &args.baseline {
        // Now, not after hours of work.
        find::run(&app, baseline).await?;
    }
    let course = choose::course(&app, &job, args.new).await?;
    if let (Some(note), false) = (&course.note, args.quiet) {
        eprintln!("{note}");
    }
    let ending = follow(&app, &job, &course, args.quiet).await?;
    let report = result::Report {
        resumed: course.resumed,
        json: args.json,
        continue_with: app.command(&format!("run {}", args.file.display())),
        wish: Wish { baseline: args.baseline, worst: args.worst },
        targets: args.report,
    };
    result::show(&app, ending, report).await
}

async fn follow(app: &App, job: &LoadedJob, course: &Course, quiet: bool) -> Result<Ending> {
    let progress = Progress::new(&job.name, job.rows, quiet);
    let concurrency = app.store.run(course.run).await?.limits.concurrency;
    execute::to_end(app, course.run, concurrency, progress).await
}

/// Reads the whole dataset once to check it, so it must not block the runtime.
async fn load(file: PathBuf) -> Result<LoadedJob> {
    let loaded = tokio::task::spawn_blocking(move || job_file::load(&file)).await;
    loaded
        .map_err(|panic| Error::new(format!("reading the job file failed: {panic}"), "please report this"))?
        .map_err(Error::from)
}
