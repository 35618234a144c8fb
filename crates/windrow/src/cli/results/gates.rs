//! `windrow gates`

use windrow_wire::GateList;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::tables;

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

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let GateList { gates, exit_code } = api.gates(&args.job, args.baseline).await?;
    if args.json {
        output::print_json(&gates);
    } else if gates.is_empty() {
        let name = args.job.rsplit_once('#').map_or(args.job.as_str(), |(name, _)| name);
        output::print(&format!("{name} has no gates; add them to its file:\n\ngates:\n  - exact.mean >= 0.9\n"));
    } else {
        output::print(&tables::gates(&gates));
    }
    Ok(Exit::of_code(exit_code))
}
