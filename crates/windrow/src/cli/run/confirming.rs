//! Before a failed gate fails the build, the failing rows are run again, as `confirm` in the job file says; and what that
//! cost is printed.

use windrow_wire::request::ConfirmRequest;
use windrow_wire::{Confirming, RunResult};

use crate::app::results::Options;
use crate::cli::run::execute::Ending;
use crate::cli::run::{Args, Started, follow};
use crate::cli::view::output;
use crate::cli::view::progress::Progress;
use crate::client::api::Api;
use crate::error::Result;
use crate::text;

/// The end of the last run, and whether it is one that ran failing rows again.
pub async fn until_decided(api: &Api, started: &Started, mut ending: Ending, args: &Args) -> Result<(Ending, bool)> {
    let mut confirmed = false;
    if args.how.online || args.column.is_some() {
        return Ok((ending, confirmed));
    }
    while matches!(ending, Ending::Settled { .. }) {
        let wish = ConfirmRequest { baseline: args.baseline.clone() };
        let next = api.confirm(&started.name, wish).await?;
        if let Some(note) = &next.note {
            output::say(&format!("confirm: {note}"));
        }
        let Some(run) = &next.run else { break };
        let (rows, no, of) = (text::plural(next.items as i64, "failing row"), next.no, next.of);
        output::say(&format!("A quality gate failed. Running {rows} again (confirm {no} of {of})"));
        ending = follow::ending(api, run, Progress::new(&started.name, next.items as u64, args.quiet)).await?;
        confirmed = true;
        if matches!(ending, Ending::Settled { .. }) {
            output::say(&outcome(&next, &api.result(run, &Options::default()).await?));
        }
    }
    Ok((ending, confirmed))
}

/// What passed this time, and what it cost.
fn outcome(confirming: &Confirming, result: &RunResult) -> String {
    let evaluators = result.evaluators.iter().filter(|(_, summary)| summary.pass + summary.fail > 0);
    let passed =
        evaluators.map(|(name, summary)| format!("{name} passed {} of {}", summary.pass, summary.pass + summary.fail));
    let passed: Vec<String> = passed.collect();
    let spent = &result.spent;
    let (tokens, cost) = (text::count(spent.tokens_in + spent.tokens_out), text::dollars(spent.cost_nanos));
    format!("confirm {} of {}: {} · {tokens} tokens · {cost}", confirming.no, confirming.of, passed.join(", "))
}
