//! `windrow run FILE`: load, decide what running it means now, execute it here, show the result.

use std::path::PathBuf;

use windrow_workloads::{LoadedJob, experiment, job_file};

use super::assess::Wish;
use super::budget::Budget;
use super::choose::{self, Course, Wanted};
use super::execute::{self, Ending};
use super::online::Stream;
use super::progress::Progress;
use super::report::Target;
use super::{dry_run, find, follow, result, scheduled};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::site::Site;
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
    #[command(flatten)]
    how: How,
    /// Forecast what a run would do, cost and take; nothing is called, nothing is stored
    #[arg(long, conflicts_with_all = ["append", "rescore", "online", "scheduled", "report", "baseline"])]
    dry_run: bool,
    /// Only the first N rows: a trial run, taken over when all rows are run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,
    #[command(flatten)]
    budget: Budget,
    /// Stay, and run again at the times of the file's `schedule`
    #[arg(long, conflicts_with = "online")]
    scheduled: bool,
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

/// Which rows, and what of them.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(multiple = false)]
struct How {
    /// Start afresh: end an unfinished run and do everything again, also what was done before
    #[arg(long)]
    new: bool,
    /// Only rows of the dataset that the job has not seen
    #[arg(long)]
    append: bool,
    /// Only judge again, by the file's evaluators: no target is called, and changed columns stay
    /// beside the new ones
    #[arg(long)]
    rescore: bool,
    /// Rows come in on standard input as JSON lines, results go out on standard output
    #[arg(long)]
    online: bool,
}

impl How {
    fn wanted(self) -> Wanted {
        match self {
            How { new: true, .. } => Wanted::Afresh,
            How { append: true, .. } => Wanted::Append,
            How { rescore: true, .. } => Wanted::Rescore,
            How { online: true, .. } => Wanted::Online,
            _ => Wanted::Usual,
        }
    }
}

pub async fn perform(site: &Site, args: Args) -> Result<Exit> {
    // A folder is made only for a file that is in order, but what is there may hold its dataset.
    let existing = App::open_if_there(site).await?;
    let mut job = load(site, args.file.clone(), existing.as_ref()).await?;
    if let Some(rows) = args.first {
        job = experiment::first_rows(job, rows)
            .map_err(|error| Error::new(format!("`--first` does not fit this file: {error}"), "leave it out"))?;
    }
    job.limits = args.budget.applied_to(job.limits);
    for warning in &job.warnings {
        eprintln!("warning: {warning}");
    }
    if args.dry_run {
        return Box::pin(dry_run::perform(site, existing.as_ref(), &job, args.how.new, args.json)).await;
    }
    if args.scheduled && job.schedule.is_none() {
        let remedy = "add one: schedule: \"0 6 * * *\" (daily at 6:00 UTC)";
        return Err(Error::new(format!("{} has no `schedule`", args.file.display()), remedy));
    }
    let app = match existing {
        Some(app) => app,
        None => App::create(site).await?,
    };
    if let Some(baseline) = &args.baseline {
        // Now, not after hours of work.
        find::run(&app, baseline).await?;
    }
    let course = choose::course(&app, &job, args.how.wanted()).await?;
    if let (Some(note), false) = (&course.note, args.quiet) {
        eprintln!("{note}");
    }
    let ending = watch(&app, &job, &course, &args).await?;
    let report = result::Report {
        resumed: course.resumed,
        json: args.json,
        aside: args.how.online,
        continue_with: app.command(&args.again()),
        wish: Wish { baseline: args.baseline, within: None, worst: args.worst },
        targets: args.report,
    };
    let exit = result::show(&app, ending, report).await?;
    let exit = follow::rollback(&app, course.run, exit, follow::Shown { json: args.json, quiet: args.quiet }).await?;
    if !args.scheduled || exit == Exit::Interrupted {
        return Ok(exit);
    }
    let job = app.store.run(course.run).await?.job;
    scheduled::keep(&app, job, exit, args.json, args.quiet).await
}

impl Args {
    /// The command that goes on where this one stopped.
    fn again(&self) -> String {
        let How { append, rescore, online, .. } = self.how;
        let mode = [(append, " --append"), (rescore, " --rescore"), (online, " --online")];
        let mode: String = mode.iter().filter(|(on, _)| *on).map(|(_, flag)| *flag).collect();
        let first = self.first.map(|rows| format!(" --first {rows}")).unwrap_or_default();
        format!("run {}{mode}{first}", self.file.display())
    }
}

async fn watch(app: &App, job: &LoadedJob, course: &Course, args: &Args) -> Result<Ending> {
    let progress = Progress::new(&job.name, job.rows, args.quiet);
    let run = app.store.run(course.run).await?;
    if !args.how.online {
        return execute::to_end(app, run.id, run.limits.concurrency, progress).await;
    }
    let mut stream = Stream::open(app, &run, job.kind, course.resumed).await?;
    let ending = tokio::select! {
        ending = execute::to_end(app, run.id, run.limits.concurrency, progress) => ending?,
        error = stream.broken() => return Err(error),
    };
    stream.close().await?;
    Ok(ending)
}

/// Reads the whole dataset once to check it, so it must not block the runtime.
pub async fn load(site: &Site, file: PathBuf, app: Option<&App>) -> Result<LoadedJob> {
    let environment = app.map_or_else(|| site.environment(), App::environment);
    let library = app.map(App::library);
    let load = move || job_file::load_with(&file, &environment, library.as_ref());
    let loaded = tokio::task::spawn_blocking(load).await;
    loaded
        .map_err(|panic| Error::new(format!("reading the job file failed: {panic}"), "please report this"))?
        .map_err(Error::from)
}
