//! `windrow run FILE`: load, decide what running it means now, execute it here or follow it at a server,
//! show the result.

pub mod budget;
pub mod dry_run;
pub mod execute;
pub mod experience;
pub mod follow;
pub mod job_text;
pub mod local;
pub mod online;
pub mod remote;
pub mod remote_stream;
pub mod scheduled;
pub mod stream;
pub mod upload;
pub mod watch;

use std::path::PathBuf;

use crate::app::audit::Change;
use crate::app::resolve_run::RunIntent;
use crate::app::results::Options;
use crate::cli::Context;
use crate::cli::results::report::Target;
use crate::cli::run::budget::Budget;
use crate::cli::run::execute::Ending;
use crate::cli::run::stream::Stream;
use crate::cli::view::progress::Progress;
use crate::cli::view::result;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::node::observe::otlp::TraceArgs;

/// Run a job file, or continue it where it was interrupted.
///
/// The first run stores the job under its name. Running the same file again continues an unfinished
/// run; after a finished one it makes a new run in which everything unchanged is taken over, not
/// paid for again. Ctrl-C once lets the running items finish, twice stops at once; both can be
/// continued. With --server the file and its rows are sent there, the server does the work, and Ctrl-C
/// only leaves it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job file (YAML)
    pub file: PathBuf,
    #[command(flatten)]
    pub how: How,
    /// Forecast what a run would do, cost and take; nothing is called, nothing is stored
    #[arg(long, conflicts_with_all = ["append", "rescore", "online", "scheduled", "report", "baseline"])]
    pub dry_run: bool,
    /// Only the first N rows: a trial run, taken over when all rows are run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub first: Option<u64>,
    #[command(flatten)]
    pub budget: Budget,
    /// Stay, and run again at the times of the file's `schedule`
    #[arg(long, conflicts_with = "online")]
    pub scheduled: bool,
    /// Print one JSON object at the end, and nothing else on stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Compare with this run instead of the job's previous one
    #[arg(long, value_name = "JOB[#RUN]")]
    pub baseline: Option<String>,
    /// How many of the worst findings to show
    #[arg(long, value_name = "N", default_value_t = crate::cli::WORST)]
    pub worst: usize,
    /// Write a report when the run has ended: junit=FILE, markdown=FILE or json=FILE; may be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    pub report: Vec<Target>,
    #[command(flatten)]
    pub traces: TraceArgs,
}

/// Which rows, and what of them.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(multiple = false)]
pub struct How {
    /// Start afresh: end an unfinished run and do everything again, also what was done before
    #[arg(long)]
    pub new: bool,
    /// Only rows of the dataset that the job has not seen
    #[arg(long)]
    append: bool,
    /// Only judge again, by the file's evaluators: no target is called, and changed columns stay
    /// beside the new ones
    #[arg(long)]
    rescore: bool,
    /// Rows come in on standard input as JSON lines, results go out on standard output
    #[arg(long)]
    pub online: bool,
}

impl How {
    pub fn intent(self) -> RunIntent {
        match self {
            How { new: true, .. } => RunIntent::RunFresh,
            How { append: true, .. } => RunIntent::Append,
            How { rescore: true, .. } => RunIntent::Rescore,
            How { online: true, .. } => RunIntent::Online,
            _ => RunIntent::Run,
        }
    }
}

/// A run that was started or goes on.
pub struct Started {
    pub name: String,
    pub run: String,
    pub resumed: bool,
    /// Items the source gives, where that is known.
    pub rows: u64,
    /// Under which it was started; a server has its own.
    pub change: Option<Change>,
}

pub async fn perform(context: &Context, args: Args) -> Result<Exit> {
    match &context.remote {
        Some(remote) => Box::pin(remote::perform(remote, &context.options, args)).await,
        None => Box::pin(local::perform(&context.options, args)).await,
    }
}

/// Follows it to its end and shows what came of it.
pub async fn finish(api: &Api, started: &Started, args: &Args) -> Result<Exit> {
    let ending = ending(api, started, args).await?;
    let report = result::Report {
        resumed: started.resumed,
        json: args.json,
        aside: args.how.online,
        continue_with: api.command(&args.again()),
        options: Options { baseline: args.baseline.clone(), worst: args.worst },
        targets: args.report.clone(),
    };
    let follows = follow::rollback_follows(&ending);
    let exit = result::show(api, ending, report).await?;
    if !follows {
        return Ok(exit);
    }
    follow::rollback(api, &started.name, exit, follow::Shown { json: args.json, quiet: args.quiet }).await
}

async fn ending(api: &Api, started: &Started, args: &Args) -> Result<Ending> {
    let progress = Progress::new(&started.name, started.rows, args.quiet);
    let following = follow::ending(api, &started.run, progress);
    if !args.how.online {
        return following.await;
    }
    let mut stream = Stream::open(api, started).await?;
    let ending = tokio::select! {
        ending = following => ending?,
        error = stream.broken() => return Err(error),
    };
    stream.close(matches!(ending, Ending::Settled { .. })).await?;
    Ok(ending)
}

impl Args {
    /// What was asked for that means nothing elsewhere.
    pub fn only_for_experiments(&self) -> Option<&'static str> {
        let How { rescore, online, .. } = self.how;
        let flags = [
            (self.dry_run, "--dry-run"),
            (self.first.is_some(), "--first"),
            (rescore, "--rescore"),
            (online, "--online"),
        ];
        flags.iter().find(|(given, _)| *given).map(|(_, flag)| *flag)
    }

    /// The command that goes on where this one stopped.
    fn again(&self) -> String {
        let How { append, rescore, online, .. } = self.how;
        let mode = [(append, " --append"), (rescore, " --rescore"), (online, " --online")];
        let mode: String = mode.iter().filter(|(on, _)| *on).map(|(_, flag)| *flag).collect();
        let first = self.first.map(|rows| format!(" --first {rows}")).unwrap_or_default();
        format!("run {}{mode}{first}", self.file.display())
    }
}
