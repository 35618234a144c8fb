//! `windrow jobs item`

use windrow_model::state::AttemptState;
use windrow_model::view::experiment::ResultState;
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
    /// Item id, from `jobs items`, or the name of an operation's target
    item: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.item(&args.job, &args.item).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for ItemDetailView {
    fn text(&self) -> String {
        let item = &self.item;
        let part = self.result_state == ResultState::Logged && item.attempt_state == AttemptState::Running;
        let part = if part { " + logged" } else { "" };
        let removed = if item.removed { " · removed from the dataset" } else { "" };
        let (status, id) = (style::status(&item.status), style::dim(&item.id));
        let mut page = format!("row {} · {status}{part}{removed} · item {id}\n", item.ordinal + 1);
        if let Some(at) = self.next_retry_at {
            page += &format!("next retry at {at}\n");
        }
        page += &match &self.trace_url {
            Some(url) => format!("trace {url}\n\n"),
            None => format!("{}\n\n", style::dim(format!("trace {}", item.trace_id))),
        };
        page += &format!("{}\n  {}\n", style::dim("INPUT"), self.input.as_str());
        page += &format!("\n{}", attempts(self));
        page += &format!("\n{}", steps(self));
        if let Some(streaming) = &self.streaming {
            let name = streaming.column.as_deref().unwrap_or("output");
            let head = format!("STREAMING {name}, {} characters so far", streaming.length);
            page += &format!("\n{}\n  {}\n", style::dim(head), streaming.text);
        }
        if self.turns.len() > 1 {
            page += &format!("\n{}", turns(self));
        }
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
        let took = step.duration_ms.map_or("–".into(), text::duration);
        vec![step.id.clone(), step.turn.to_string(), name, step.state.to_string(), took, text::line(&found, 200)]
    });
    output::table(&["STEP", ">TURN", "CALL", "STATE", ">TIME", "OUTPUT"], rows.collect())
}

fn turns(detail: &ItemDetailView) -> String {
    let rows = detail.turns.iter().map(|turn| {
        let log = turn.log_id.clone().unwrap_or_else(|| "–".into());
        vec![turn.turn.to_string(), style::status(turn.status.as_str()), log]
    });
    output::table(&[">TURN", "STATUS", "LOG ID"], rows.collect())
}

fn scores(detail: &ItemDetailView) -> String {
    let rows = detail.scores.iter().map(|score| {
        let value = score.value.map_or("–".into(), |value| format!("{value:.3}"));
        vec![score.turn.to_string(), score.name.clone(), score.verdict.to_string(), value, score.reason.clone()]
    });
    output::table(&[">TURN", "EVALUATOR", "VERDICT", ">SCORE", "REASON"], rows.collect())
}
