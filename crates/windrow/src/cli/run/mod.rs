//! `windrow run FILE`: load the file, start or resume a run, execute it here or follow it on a server, show the
//! result.

pub mod budget;
pub mod confirming;
pub mod dry_run;
pub mod execute;
pub mod follow;
pub mod input;
pub mod job_text;
pub mod local;
pub mod online;
pub mod preview;
pub mod remote;
pub mod remote_stream;
pub mod result;
pub mod scheduled;
pub mod stream;
pub mod upload;
pub mod watch;

use std::path::PathBuf;

use crate::app::audit::Change;
use crate::app::resolve_run::RunIntent;
use crate::app::results::Options;
use crate::cli::Context;
use crate::cli::confirm::Confirmation;
use crate::cli::results::report::Target;
use crate::cli::run::budget::Budget;
use crate::cli::run::execute::Ending;
use crate::cli::run::stream::Stream;
use crate::cli::view::progress::Progress;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::node::observe::otlp::TraceArgs;
use crate::text;
use crate::text::style;

/// Run a job file, or resume its unfinished run
///
/// The first run stores the job under its name. Running the same file again resumes an unfinished run; after a
/// finished run it starts a new one that reuses unchanged results. Ctrl-C waits for running items, a second Ctrl-C
/// stops immediately; both can be resumed. With --server the file and its rows are sent to the server, which
/// executes the run; Ctrl-C stops following it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job file (YAML)
    pub file: PathBuf,
    #[command(flatten)]
    pub how: How,
    /// Estimate calls, cost and duration without running; for an operation, preview its changes as `plan` does
    #[arg(long, conflicts_with_all = ["append", "rescore", "online", "scheduled", "report", "baseline"])]
    pub dry_run: bool,
    /// Run only the first N rows; a later full run reuses their results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub first: Option<u64>,
    /// Fill only this column, or this evaluator's scores, and what it reads; everything else on record stays
    #[arg(long, value_name = "NAME", conflicts_with_all = ["rescore", "online", "scheduled", "baseline"])]
    pub column: Option<String>,
    #[command(flatten)]
    pub budget: Budget,
    /// Continue even if all of the first calls fail; otherwise the run pauses
    #[arg(long)]
    pub keep_going: bool,
    /// Keep running and start a run at each time in `schedule`
    #[arg(long, conflicts_with = "online")]
    pub scheduled: bool,
    /// Print JSON to stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress, notes or hints
    #[arg(long, short)]
    pub quiet: bool,
    /// Baseline run [default: the last run of the job that passed]
    #[arg(long, value_name = "JOB[#RUN]")]
    pub baseline: Option<String>,
    /// Number of lowest scores to show
    #[arg(long, value_name = "N", default_value_t = crate::cli::WORST)]
    pub worst: usize,
    /// Write a report at the end: junit=FILE, markdown=FILE or json=FILE; may be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    pub report: Vec<Target>,
    #[command(flatten)]
    pub confirmation: Confirmation,
    #[command(flatten)]
    pub traces: TraceArgs,
}

/// Which rows, and what of them.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(multiple = false)]
pub struct How {
    /// Cancel any unfinished run and run every item again, without reusing results
    #[arg(long)]
    pub new: bool,
    /// Run only rows that are new in the dataset
    #[arg(long)]
    append: bool,
    /// Run changed evaluators on stored outputs; the target is not called. Earlier scores are kept as
    /// `name@version`
    #[arg(long)]
    rescore: bool,
    /// Read rows from standard input as JSON lines and write results to standard output
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

/// A run that was started or resumed.
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

/// Follows it to its end and shows the result.
pub async fn finish(api: &Api, started: &Started, args: &Args) -> Result<Exit> {
    let ending = ending(api, started, args).await?;
    let (ending, confirmed) = Box::pin(confirming::until_decided(api, started, ending, args)).await?;
    let again = match confirmed {
        true => follow::command(api, &started.name),
        false => api.command(&args.again()),
    };
    let report = result::Report {
        resumed: started.resumed,
        json: args.json,
        aside: args.how.online,
        continue_with: again,
        options: Options { baseline: args.baseline.clone(), worst: args.worst },
        targets: args.report.clone(),
        file: Some(args.file.clone()),
    };
    let follows = follow::follows(&ending);
    // In a box, because it is large and commands hold this future on their stack.
    let exit = Box::pin(result::show(api, ending, report)).await?;
    follow::then(api, &started.name, follows, exit, follow::Shown { json: args.json, quiet: args.quiet }).await
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
    /// A given flag that jobs of this kind do not have.
    pub fn unfit_for(&self, kind: &str) -> Option<&'static str> {
        if kind == windrow_experiment::KIND {
            return None;
        }
        let How { rescore, online, .. } = self.how;
        let flags = [
            (self.dry_run && kind != windrow_operation::KIND, "--dry-run"),
            (self.first.is_some(), "--first"),
            (self.column.is_some(), "--column"),
            (rescore, "--rescore"),
            (online, "--online"),
        ];
        flags.iter().find(|(given, _)| *given).map(|(_, flag)| *flag)
    }

    /// Before an unfinished run is cancelled.
    pub fn confirm_new(&self, name: &str, no: i64, (done, total): (i64, i64)) -> Result<()> {
        let progress = style::bold(format!("{} of {}", text::count(done), text::plural(total, "item")));
        let question = format!("Cancel the unfinished run {no} of {name:?} ({progress} done) and start a new one?");
        self.confirmation.ask(&question, "cancel it")
    }

    /// The command that resumes the run.
    fn again(&self) -> String {
        let How { append, rescore, online, .. } = self.how;
        let mode = [(append, " --append"), (rescore, " --rescore"), (online, " --online")];
        let mode: String = mode.iter().filter(|(on, _)| *on).map(|(_, flag)| *flag).collect();
        let first = self.first.map(|rows| format!(" --first {rows}")).unwrap_or_default();
        let column = self.column.as_ref().map(|name| format!(" --column {name}")).unwrap_or_default();
        format!("run {}{mode}{first}{column}", self.file.display())
    }
}
