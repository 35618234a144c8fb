//! Representations of an item: a list entry, and the details with attempts and steps.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use windrow_model::item_query::FoundItem;
use windrow_model::record::{Attempt, Item, ItemDetail, Run, Step};
use windrow_model::state::{AttemptState, ItemState, Outcome, StepState};
use windrow_model::step::{Score, Usage, Verdict};
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
    /// Position in the source, from 0.
    pub ordinal: i64,
    pub key: String,
    /// The row, if the item is one of several trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub status: String,
    pub state: ItemState,
    pub attempt_state: AttemptState,
    pub tries: u32,
    pub error: Option<ErrorView>,
    pub latency_ms: Option<i64>,
    pub usage: Usage,
    pub finished_at: Option<Timestamp>,
}

impl ItemRow {
    pub fn of(kind: &str, run: &Run, item: &Item) -> Self {
        Self {
            id: item.id.to_string(),
            run: item.run.to_string(),
            ordinal: item.ordinal,
            key: item.key.to_string(),
            group: item.group.map(|group| group.to_string()),
            status: status::of_item(kind, run, item).to_owned(),
            state: item.state,
            attempt_state: item.attempt_state,
            tries: item.tries,
            error: item.error.as_ref().map(Into::into),
            latency_ms: item.latency_ms,
            usage: item.usage,
            finished_at: item.finished_at.map(Into::into),
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
    pub outcome: Option<Outcome>,
    pub retries: u32,
    pub losses: u32,
    /// Earlier attempts that ended because the endpoint was rate limited.
    pub throttled: u32,
    pub error: Option<ErrorView>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        Self {
            id: attempt.id.to_string(),
            run: attempt.run.to_string(),
            state: attempt.state,
            outcome: attempt.outcome,
            retries: attempt.retries,
            losses: attempt.losses,
            throttled: attempt.throttled,
            error: attempt.error.as_ref().map(Into::into),
            started_at: attempt.started_at.map(Into::into),
            ended_at: attempt.ended_at.map(Into::into),
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
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ItemDetailView {
    #[serde(flatten)]
    pub item: ItemRow,
    pub input: Json,
    pub scores: Vec<Score>,
    pub attempts: Vec<AttemptView>,
    pub steps: Vec<StepView>,
}

impl ItemDetailView {
    pub fn of(kind: &str, run: &Run, detail: &ItemDetail) -> Self {
        Self {
            item: ItemRow::of(kind, run, &detail.item),
            input: detail.input.clone(),
            scores: detail.scores.clone(),
            attempts: detail.attempts.iter().map(Into::into).collect(),
            steps: detail.steps.iter().map(Into::into).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for ItemDetailView {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            input: Json,
            scores: Vec<Score>,
            attempts: Vec<AttemptView>,
            steps: Vec<StepView>,
        }
        let (item, Rest { input, scores, attempts, steps }) = flat::read(d)?;
        Ok(Self { item, input, scores, attempts, steps })
    }
}
