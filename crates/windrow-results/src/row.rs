//! One item as the table shows it: the only definition of what is derived from the records.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use windrow_model::record::{ItemDetail, ItemResult, Step};
use windrow_model::state::{AttemptState, ItemState, Outcome};
use windrow_model::step::{ANSWERING, ContentKey, Score, Usage, Verdict, answer_text};
use windrow_model::trace::TraceId;
use windrow_model::{AttemptId, ErrorClass, ItemId, RunId, StepId, Time};

use crate::label::{self, RowLabel};

/// Characters of a text that the table keeps; the item has the full text.
pub const PREVIEW: usize = 200;
/// Fields of an item's input that do not come from the dataset.
const RESERVED: [&str; 2] = ["trial", "variant"];
/// Dataset fields that hold the expected answer, the first that is there.
pub(crate) const EXPECTED: [&str; 2] = ["expected", "answer"];

windrow_model::vocabulary! {
    /// What a reader would call the row.
    pub enum RowOutcome {
        #[doc = "Every verdict is a pass, or the item succeeded without evaluators."]
        Pass = "pass",
        #[doc = "An evaluator found the output wrong."]
        Fail = "fail",
        #[doc = "The item failed, or an evaluator could not judge."]
        Error = "error",
        #[doc = "A rule said that there was nothing to do."]
        Skipped = "skipped",
        #[doc = "The run ended before the item was done."]
        Cancelled = "cancelled",
        #[doc = "A worker executes it."]
        Running = "running",
        #[doc = "Waits to be executed."]
        Queued = "queued",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResultRow {
    pub item: ItemId,
    /// Of the dataset row; all trials and variants of a row share it.
    pub key: ContentKey,
    /// Place in the source, from 0.
    pub ordinal: i64,
    pub variant: Option<String>,
    pub trial: i64,
    pub state: ItemState,
    pub outcome: RowOutcome,
    /// Number of the run that made it.
    pub run: i64,
    pub error: Option<(ErrorClass, String)>,
    pub tries: u32,
    pub turns: u32,
    /// Trials of the same row and variant disagree.
    pub flaky: bool,
    /// Number of the newest run that read it from the dataset; 0: not known.
    pub planned: i64,
    /// The last run over the whole dataset did not find it there.
    pub removed: bool,
    pub latency_ms: Option<i64>,
    pub usage: Usage,
    pub finished_at: Option<Time>,
    pub trace: TraceId,
    pub input: String,
    pub expected: Option<String>,
    pub output: Option<String>,
    /// By column.
    pub outputs: BTreeMap<String, String>,
    pub fields: Map<String, Value>,
    /// By turn and name.
    pub scores: Vec<Score>,
    /// What people said, by name.
    pub labels: Vec<RowLabel>,
}

impl ResultRow {
    /// The item's current state, or what one run made of it, with previews of its texts.
    pub fn of(detail: &ItemDetail, made: Option<&ItemResult>, number_of: impl Fn(RunId) -> i64) -> Self {
        Self::whole(detail, made, number_of).shortened()
    }

    /// With previews instead of texts.
    pub fn shortened(mut self) -> Self {
        let cut = |text: &mut String| {
            if text.len() > PREVIEW {
                *text = preview(text);
            }
        };
        self.scores.iter_mut().for_each(|score| cut(&mut score.reason));
        self.labels.iter_mut().for_each(|label| cut(&mut label.reason));
        self.labels.iter_mut().filter_map(|label| label.note.as_mut()).for_each(cut);
        self.error.iter_mut().for_each(|(_, message)| cut(message));
        cut(&mut self.input);
        self.expected.iter_mut().for_each(cut);
        self.output.iter_mut().for_each(cut);
        self.outputs.values_mut().for_each(cut);
        self.fields.values_mut().for_each(shorten);
        self
    }

    /// With full texts.
    pub fn whole(detail: &ItemDetail, made: Option<&ItemResult>, number_of: impl Fn(RunId) -> i64) -> Self {
        let item = &detail.item;
        let attempt = made.map(|made| made.attempt).or(item.archived);
        let run = made
            .and_then(|made| detail.attempts.iter().find(|attempt| attempt.id == made.attempt))
            .map_or(item.run, |attempt| attempt.run);
        let state = made.map_or(item.state, |made| state_of(made.outcome));
        let scores: Vec<Score> = made.map_or(&detail.scores, |made| &made.scores).clone();
        let error = made.map_or(&item.error, |made| &made.error);
        let mut fields: Map<String, Value> = detail.input.parse().unwrap_or_default();
        let variant = fields.get("variant").and_then(Value::as_str).map(str::to_owned);
        let trial = fields.get("trial").and_then(Value::as_i64).unwrap_or(1);
        RESERVED.iter().for_each(|name| drop(fields.remove(*name)));
        let input = serde_json::to_string(&fields).unwrap_or_default();
        let expected = EXPECTED.iter().find_map(|name| fields.get(*name)).map(text_of);
        let at_work = if made.is_none() { at_work(detail) } else { Vec::new() };
        let answers = match attempt {
            _ if !at_work.is_empty() => at_work,
            Some(attempt) => answers(&detail.steps, attempt),
            None => Vec::new(),
        };
        let (mut output, mut outputs) = (None, BTreeMap::new());
        let mut turns: BTreeSet<u32> = scores.iter().map(|score| score.turn).collect();
        for (name, turn, text) in answers {
            turns.insert(turn);
            if !name.is_empty() {
                outputs.insert(name.to_owned(), text.clone());
            }
            output = Some(text);
        }
        let mut row = Self {
            item: item.id,
            key: item.group.unwrap_or(item.key),
            ordinal: item.ordinal,
            variant,
            trial,
            state,
            outcome: outcome_of(state, item.attempt_state, &scores),
            run: number_of(run),
            error: error.clone(),
            tries: item.tries,
            turns: turns.len() as u32,
            flaky: false,
            planned: 0,
            removed: false,
            latency_ms: made.map_or(item.latency_ms, |made| Some(made.latency_ms)),
            usage: made.map_or(item.usage, |made| made.usage),
            finished_at: match made.and_then(|made| detail.attempts.iter().find(|a| a.id == made.attempt)) {
                Some(attempt) => attempt.ended_at,
                None => item.finished_at,
            },
            trace: TraceId::of(run, item.id),
            input,
            expected,
            output,
            outputs,
            fields,
            scores,
            labels: Vec::new(),
        };
        if !detail.labels.is_empty() {
            row.labels = label::current(&detail.labels, row.output_key());
        }
        row
    }

    /// Identifies the output, to know whether it is still the one that somebody looked at. Of a row with full texts.
    pub fn output_key(&self) -> ContentKey {
        let mut parts: Vec<&[u8]> = vec![self.output.as_deref().unwrap_or_default().as_bytes()];
        for (column, text) in &self.outputs {
            parts.extend([column.as_bytes(), text.as_bytes()]);
        }
        ContentKey::of(&parts)
    }

    /// Whether a row that this run read last is not in the dataset of the last whole run.
    pub fn is_removed(planned: i64, whole: i64) -> bool {
        0 < planned && planned < whole
    }

    /// The lowest value of an evaluator over the turns.
    pub fn score(&self, name: &str) -> Option<f64> {
        self.of_evaluator(name).filter_map(|score| score.value).reduce(f64::min)
    }

    pub fn of_evaluator<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Score> + 'a {
        self.scores.iter().filter(move |score| score.name == name)
    }

    pub fn reason(&self, name: &str) -> Option<String> {
        let reasons: Vec<&str> = self.of_evaluator(name).map(|score| score.reason.as_str()).collect();
        Some(reasons.join("\n")).filter(|text| !text.is_empty())
    }

    pub fn target(&self) -> Option<&str> {
        self.variant.as_deref().map(target_of)
    }

    pub fn prompt(&self) -> Option<&str> {
        self.variant.as_deref().and_then(prompt_of)
    }
}

pub(crate) fn target_of(variant: &str) -> &str {
    variant.split_once('.').map_or(variant, |(target, _)| target)
}

pub(crate) fn prompt_of(variant: &str) -> Option<&str> {
    variant.split_once('.').map(|(_, prompt)| prompt)
}

impl RowOutcome {
    /// Trials of a row that differ in such an outcome are flaky.
    pub(crate) fn tells_of_output(self) -> bool {
        matches!(self, RowOutcome::Pass | RowOutcome::Fail | RowOutcome::Error)
    }
}

fn state_of(outcome: Outcome) -> ItemState {
    match outcome {
        Outcome::Succeeded => ItemState::Succeeded,
        Outcome::Skipped => ItemState::Skipped,
        Outcome::Cancelled => ItemState::Cancelled,
        Outcome::Failed | Outcome::Retried | Outcome::Lost => ItemState::Failed,
    }
}

fn outcome_of(state: ItemState, attempt: AttemptState, scores: &[Score]) -> RowOutcome {
    let found = |verdict| scores.iter().any(|score| score.is_own() && score.verdict == verdict);
    match state {
        ItemState::Queued if matches!(attempt, AttemptState::Running | AttemptState::Logged) => RowOutcome::Running,
        ItemState::Queued => RowOutcome::Queued,
        ItemState::Failed => RowOutcome::Error,
        ItemState::Cancelled => RowOutcome::Cancelled,
        ItemState::Skipped => RowOutcome::Skipped,
        ItemState::Succeeded if found(Verdict::Error) => RowOutcome::Error,
        ItemState::Succeeded if found(Verdict::Fail) => RowOutcome::Fail,
        ItemState::Succeeded => RowOutcome::Pass,
    }
}

/// What an item that is not done yet has finished in its run: the newest answer to each question, whichever attempt gave
/// it.
fn at_work(detail: &ItemDetail) -> Vec<Answer<'_>> {
    if detail.item.state != ItemState::Queued {
        return Vec::new();
    }
    let mut found: Vec<Answer<'_>> = Vec::new();
    for attempt in detail.attempts.iter().filter(|attempt| attempt.run == detail.item.run) {
        let newer = answers(&detail.steps, attempt.id);
        found.retain(|(name, turn, _)| !newer.iter().any(|(other, at, _)| (name, turn) == (other, at)));
        found.extend(newer);
    }
    found
}

/// Name, turn and text.
type Answer<'a> = (&'a str, u32, String);

/// Every answer of one attempt, computed in it or reused from an earlier one.
fn answers(steps: &[Step], attempt: AttemptId) -> Vec<Answer<'_>> {
    let by_id = |id: StepId| steps.iter().find(|step| step.id == id);
    let own = steps.iter().filter(|step| step.id.attempt() == attempt);
    // A target that answers later has a second step: its answer comes after what was handed in, and replaces it.
    own.filter(|step| ANSWERING.contains(&step.kind.as_str()))
        .filter_map(|step| {
            let made = step.reused_from.and_then(by_id).unwrap_or(step);
            let text = answer_text(&step.kind, made.output.as_ref()?)?;
            Some((step.name.as_str(), step.turn, text))
        })
        .collect()
}

/// A text as it is, everything else as JSON.
pub fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = preview(text),
        Value::Array(_) | Value::Object(_) => *value = Value::String(preview(&value.to_string())),
        _ => {}
    }
}

pub fn preview(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
