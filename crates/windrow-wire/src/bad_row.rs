//! A score that is not a pass, with its input and output, shortened for lists.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::StepId;
use windrow_model::record::{BadScore, ItemDetail, Step};
use windrow_model::step::Verdict;

/// Longer texts are truncated; the item has the full text.
const SHOWN: usize = 300;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BadRow {
    pub item: String,
    /// Position in the source, from 1.
    pub row: i64,
    /// Where the job has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    pub turn: u32,
    pub evaluator: String,
    pub verdict: Verdict,
    pub value: Option<f64>,
    pub reason: String,
    pub input: String,
    pub output: Option<String>,
}

impl BadRow {
    pub fn of(bad: &BadScore, detail: &ItemDetail) -> Self {
        Self {
            item: bad.item.to_string(),
            row: bad.ordinal + 1,
            variant: detail.item.variant.clone(),
            turn: bad.score.turn,
            evaluator: bad.score.name.clone(),
            verdict: bad.score.verdict,
            value: bad.score.value,
            reason: cut(&bad.score.reason),
            input: cut(detail.input.as_str()),
            output: output(bad, &detail.steps).map(|text| cut(&text)),
        }
    }
}

/// The target's output on that turn, computed in the attempt or reused from an earlier one. In a job with columns, the
/// one that was judged.
fn output(bad: &BadScore, steps: &[Step]) -> Option<String> {
    let by_id = |id: StepId| steps.iter().find(|step| step.id == id);
    let made_of = |step: &Step| step.reused_from.and_then(by_id).unwrap_or(step).clone();
    let own = || steps.iter().filter(|step| step.id.attempt() == bad.attempt && step.turn == bad.score.turn);
    let Some(asked) = own().rfind(|step| step.kind == "target") else {
        let judged = own().rfind(|step| step.kind == "evaluator" && step.name == bad.score.name)?;
        return Some(made_of(judged).input.value()["output"].as_str()?.to_owned());
    };
    let made = made_of(asked);
    let output = made.output.as_ref()?.value();
    Some(output["content"].as_str().map_or_else(|| output.to_string(), str::to_owned))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
