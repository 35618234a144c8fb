//! `windrow jobs item`

use windrow_wire::ItemDetailView;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::style;

/// Show an item with its input, attempts, steps and scores
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Item id, from `jobs items`
    item: i64,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.item(&args.job, args.item).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for ItemDetailView {
    fn text(&self) -> String {
        let item = &self.item;
        let mut page =
            format!("row {} · {} · item {}\n\n", item.ordinal + 1, style::status(&item.status), style::dim(&item.id));
        page += &format!("{}\n  {}\n", style::dim("INPUT"), self.input.as_str());
        page += &format!("\n{}", attempts(self));
        page += &format!("\n{}", steps(self));
        if !self.scores.is_empty() {
            page += &format!("\n{}", scores(self));
        }
        page
    }
}

fn attempts(detail: &ItemDetailView) -> String {
    let rows = detail.attempts.iter().map(|attempt| {
        let error = attempt.error.as_ref();
        vec![
            attempt.id.clone(),
            attempt.outcome.map_or_else(|| attempt.state.to_string(), |outcome| outcome.to_string()),
            attempt.started_at.map_or("–".into(), |at| at.to_string()),
            attempt.losses.to_string(),
            error.map_or(String::new(), |e| format!("{}: {}", e.class, e.message)),
        ]
    });
    output::table(&["ATTEMPT", "OUTCOME", "STARTED", ">LOST", "ERROR"], rows.collect())
}

fn steps(detail: &ItemDetailView) -> String {
    let rows = detail.steps.iter().map(|step| {
        let found = match (&step.failure, &step.output) {
            (Some(failure), _) => failure.to_string(),
            (None, Some(output)) => output.as_str().to_owned(),
            (None, None) => step.reused_from.as_ref().map_or(String::new(), |from| format!("reused from {from}")),
        };
        let name = if step.name.is_empty() { step.kind.clone() } else { format!("{} {}", step.kind, step.name) };
        vec![step.id.clone(), step.turn.to_string(), name, step.state.to_string(), text::line(&found, 200)]
    });
    output::table(&["STEP", ">TURN", "CALL", "STATE", "OUTPUT"], rows.collect())
}

fn scores(detail: &ItemDetailView) -> String {
    let rows = detail.scores.iter().map(|score| {
        let value = score.value.map_or("–".into(), |value| format!("{value:.3}"));
        vec![score.turn.to_string(), score.name.clone(), score.verdict.to_string(), value, score.reason.clone()]
    });
    output::table(&[">TURN", "EVALUATOR", "VERDICT", ">SCORE", "REASON"], rows.collect())
}
