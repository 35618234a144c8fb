//! `windrow gates`

use super::assess::{Wish, assess};
use super::{find, output, tables};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;

/// Judge the gates of a run that is over once more, from its stored results.
///
/// Ends as the run itself did: 0 passed, 3 a gate failed, 4 too many items failed, 6 undecided.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job, with #N for one of its runs
    #[arg(value_name = "JOB[#RUN]")]
    job: String,
    /// Compare with this run instead of the job's own baseline
    #[arg(long, value_name = "JOB[#RUN]")]
    baseline: Option<String>,
    #[arg(long)]
    json: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::run(app, &args.job).await?;
    if !run.state.is_final() {
        let what = format!("run {} of {} is {} and not over", run.no, job.name, run.state);
        return Err(Error::new(what, "gates are judged when a run has ended"));
    }
    let assessed = assess(app, &run, &Wish { baseline: args.baseline, within: None, worst: 0 }).await?;
    if args.json {
        output::print_json(&assessed.gates);
    } else if assessed.gates.is_empty() {
        output::print(&format!("{} has no gates; add them to its file:\n\ngates:\n  - exact.mean >= 0.9\n", job.name));
    } else {
        output::print(&tables::gates(&assessed.gates));
    }
    Ok(assessed.exit)
}
