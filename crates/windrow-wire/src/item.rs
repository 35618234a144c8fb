//! Representations of an item: a list entry, and the details with attempts and steps.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use windrow_model::item_query::FoundItem;
use windrow_model::record::{Attempt, Item, ItemDetail, Run, Step};
use windrow_model::state::{AttemptState, ItemState, Outcome, StepState};
use windrow_model::step::{Score, Usage, Verdict};
use windrow_model::trace::{SpanId, TraceId};
use windrow_model::view::ItemView;
use windrow_model::view::experiment::{ItemStatus, ResultState};
use windrow_model::view::turn::{self, Turn};
use windrow_model::{ErrorClass, Failure, Json};

use crate::{Timestamp, flat, status};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorView {
    pub class: ErrorClass,
    pub message: String,
}

impl From<&(ErrorClass, String)> for ErrorView {
    fn from((class, message): &(ErrorClass, String)) -> Self {
        Self { class: *class, message: message.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemRow {
    pub id: String,
    pub run: String,
    /// Trace of the item in this run (OpenTelemetry, 32 hex digits).
    pub trace_id: String,
    /// Position in the source, from 0.
    pub ordinal: i64,
    pub key: String,
    /// The row, if the item is one of several trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The variant (target and prompt) that the item tries, where the job has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    pub status: String,
    pub state: ItemState,
    pub attempt_state: AttemptState,
    pub tries: u32,
    pub error: Option<ErrorView>,
    pub latency_ms: Option<i64>,
    pub usage: Usage,
    pub finished_at: Option<Timestamp>,
    /// The row has left the dataset: the job's last run over all rows did not find it. Its results are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The name of an operation's target or of a slice, in lists of failed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether the operation may have changed that target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

impl ItemRow {
    pub fn of(kind: &str, run: &Run, item: &Item) -> Self {
        Self {
            id: item.id.to_string(),
            run: item.run.to_string(),
            trace_id: TraceId::of(item.run, item.id).to_string(),
            ordinal: item.ordinal,
            key: item.key.to_string(),
            group: item.group.map(|group| group.to_string()),
            variant: item.variant.clone(),
            status: status::of_item(kind, run, item).to_owned(),
            state: item.state,
            attempt_state: item.attempt_state,
            tries: item.tries,
            error: item.error.as_ref().map(Into::into),
            latency_ms: item.latency_ms,
            usage: item.usage,
            finished_at: item.finished_at.map(Into::into),
            removed: false,
            target: None,
            changed: None,
        }
    }
}

/// A score without its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreCell {
    pub name: String,
    pub turn: u32,
    pub verdict: Verdict,
    /// Null for `error` and `skipped`.
    pub value: Option<f64>,
}

/// An entry of a list of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListedItem {
    #[serde(flatten)]
    pub item: ItemRow,
    /// Sorted by turn and name.
    pub scores: Vec<ScoreCell>,
}

impl ListedItem {
    pub fn of(kind: &str, run: &Run, found: &FoundItem) -> Self {
        let cell = |score: &Score| ScoreCell {
            name: score.name.clone(),
            turn: score.turn,
            verdict: score.verdict,
            value: score.value,
        };
        Self { item: ItemRow::of(kind, run, &found.item), scores: found.scores.iter().map(cell).collect() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    pub id: String,
    pub run: String,
    pub state: AttemptState,
    /// `init`, `logged` (handed in, also in part) or `resulted` (archived).
    pub result_state: ResultState,
    pub outcome: Option<Outcome>,
    pub retries: u32,
    pub losses: u32,
    /// Earlier attempts that ended because the endpoint was rate limited.
    pub throttled: u32,
    pub error: Option<ErrorView>,
    /// When it starts, if it waits to retry an earlier attempt.
    pub next_retry_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub trace_id: String,
    /// The attempt's span in the trace (16 hex digits).
    pub log_id: String,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        let waits = matches!(attempt.state, AttemptState::Queued | AttemptState::Blocked);
        Self {
            id: attempt.id.to_string(),
            run: attempt.run.to_string(),
            state: attempt.state,
            result_state: ResultState::of(attempt.state, attempt.partial),
            outcome: attempt.outcome,
            retries: attempt.retries,
            losses: attempt.losses,
            throttled: attempt.throttled,
            error: attempt.error.as_ref().map(Into::into),
            next_retry_at: (waits && attempt.retries + attempt.throttled > 0).then(|| attempt.due_at.into()),
            started_at: attempt.started_at.map(Into::into),
            ended_at: attempt.ended_at.map(Into::into),
            trace_id: TraceId::of(attempt.run, attempt.id.item()).to_string(),
            log_id: SpanId::of_attempt(attempt.id, attempt.fence).to_string(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepView {
    pub id: String,
    pub kind: String,
    pub name: String,
    pub turn: u32,
    pub state: StepState,
    pub input: Json,
    #[schema(value_type = Json)]
    pub output: Option<Json>,
    pub failure: Option<Failure>,
    pub usage: Usage,
    pub reused_from: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Null for a reused or unfinished step.
    pub duration_ms: Option<i64>,
    /// The step's span in the trace (16 hex digits).
    pub log_id: String,
}

impl From<&Step> for StepView {
    fn from(step: &Step) -> Self {
        Self {
            id: step.id.to_string(),
            kind: step.kind.clone(),
            name: step.name.clone(),
            turn: step.turn,
            state: step.state,
            input: step.input.clone(),
            output: step.output.clone(),
            failure: step.failure.clone(),
            usage: step.usage,
            reused_from: step.reused_from.map(|step| step.to_string()),
            started_at: step.started_at.into(),
            ended_at: step.ended_at.map(Into::into),
            duration_ms: step.ended_at.filter(|_| step.state != StepState::Reused).map(|ended| ended - step.started_at),
            log_id: SpanId::of_step(step.id).to_string(),
        }
    }
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnView {
    /// From 0.
    pub turn: u32,
    pub status: ItemStatus,
    pub trace_id: String,
    /// Span of the newest call of the target in this turn; null before the first call.
    pub log_id: Option<String>,
}

impl TurnView {
    fn of(run: &Run, detail: &ItemDetail) -> Vec<Self> {
        let status = ItemStatus::of(&ItemView::of(&detail.item, run));
        let trace_id = TraceId::of(detail.item.run, detail.item.id).to_string();
        let view = |Turn { turn, status, call }| Self {
            turn,
            status,
            trace_id: trace_id.clone(),
            log_id: call.map(|step| SpanId::of_step(step).to_string()),
        };
        turn::turns(detail, status).into_iter().map(view).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ItemDetailView {
    #[serde(flatten)]
    pub item: ItemRow,
    /// Of the current attempt. `logged` while the item is `processing`: a part of its result is handed in.
    pub result_state: ResultState,
    /// When the item is retried, if it waits for that.
    pub next_retry_at: Option<Timestamp>,
    /// The current attempt's span in the trace (16 hex digits).
    pub log_id: Option<String>,
    /// Opens the trace, if the server has a trace URL.
    pub trace_url: Option<String>,
    /// Status of each turn; empty for other kinds than experiments.
    pub turns: Vec<TurnView>,
    pub input: Json,
    pub scores: Vec<Score>,
    pub attempts: Vec<AttemptView>,
    pub steps: Vec<StepView>,
    /// What people said, oldest first.
    pub labels: Vec<crate::LabelView>,
    /// What the call in flight has said so far, up to 16 KiB of it. Only from the node that makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<crate::StreamedText>,
}

impl ItemDetailView {
    pub fn of(kind: &str, run: &Run, detail: &ItemDetail) -> Self {
        let attempts: Vec<AttemptView> = detail.attempts.iter().map(Into::into).collect();
        let current = attempts.last();
        Self {
            item: ItemRow::of(kind, run, &detail.item),
            result_state: current.map_or(ResultState::Init, |attempt| attempt.result_state),
            next_retry_at: next_retry_at(run, detail),
            log_id: current.map(|attempt| attempt.log_id.clone()),
            trace_url: None,
            turns: if kind == "experiment" { TurnView::of(run, detail) } else { Vec::new() },
            input: detail.input.clone(),
            scores: detail.scores.clone(),
            attempts,
            steps: detail.steps.iter().map(Into::into).collect(),
            labels: detail.labels.iter().map(Into::into).collect(),
            streaming: None,
        }
    }
}

/// When the item is tried again, if it waits for that: within its run, or after the end of its last one (T17).
pub fn next_retry_at(run: &Run, detail: &ItemDetail) -> Option<Timestamp> {
    let current = detail.attempts.last()?;
    let after_end = || {
        let retry_no = run.selection.as_ref()?.retry_no.filter(|_| current.state == AttemptState::Queued);
        retry_no.map(|_| current.due_at.into())
    };
    AttemptView::from(current).next_retry_at.or_else(after_end)
}

impl ItemDetailView {
    /// `template` is a URL with `{trace_id}` in it.
    pub fn with_trace_url(mut self, template: Option<&str>) -> Self {
        self.trace_url = template.map(|template| template.replace("{trace_id}", &self.item.trace_id));
        self
    }
}

impl<'de> Deserialize<'de> for ItemDetailView {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            result_state: ResultState,
            next_retry_at: Option<Timestamp>,
            log_id: Option<String>,
            trace_url: Option<String>,
            turns: Vec<TurnView>,
            input: Json,
            scores: Vec<Score>,
            attempts: Vec<AttemptView>,
            steps: Vec<StepView>,
            #[serde(default)]
            labels: Vec<crate::LabelView>,
            #[serde(default)]
            streaming: Option<crate::StreamedText>,
        }
        let (item, rest): (_, Rest) = flat::read(d)?;
        Ok(Self {
            item,
            result_state: rest.result_state,
            next_retry_at: rest.next_retry_at,
            log_id: rest.log_id,
            trace_url: rest.trace_url,
            turns: rest.turns,
            input: rest.input,
            scores: rest.scores,
            attempts: rest.attempts,
            steps: rest.steps,
            labels: rest.labels,
            streaming: rest.streaming,
        })
    }
}
