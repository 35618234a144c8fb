//! `windrow gates`

use windrow_wire::GateList;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::tables;

/// Re-evaluate the quality gates of a run
///
/// Uses the stored results of a finished run. Exit codes: 0 passed, 3 a gate failed, 4 too many items failed,
/// 6 inconclusive.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id; `#N` selects a run
    #[arg(value_name = "JOB[#RUN]")]
    job: String,
    /// Baseline run [default: the baseline of the run]
    #[arg(long, value_name = "JOB[#RUN]")]
    baseline: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let GateList { gates, exit_code } = api.gates(&args.job, args.baseline).await?;
    if args.json {
        output::print_json(&gates);
    } else if gates.is_empty() {
        let name = args.job.rsplit_once('#').map_or(args.job.as_str(), |(name, _)| name);
        output::print(&format!(
            "{name} has no quality gates. Add them to its job file, e.g.\n\ngates:\n  - exact.mean >= 0.9\n"
        ));
    } else {
        output::print(&tables::gates(&gates));
    }
    Ok(Exit::of_code(exit_code))
}
