//! Cells of a result table: a column in one row (T16).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::step::{Score, Usage};
use windrow_results::cells::{Cell, CellState};
use windrow_results::row::preview;

use crate::{StepView, Timestamp};

/// What a column holds in one row, or what it waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CellView {
    /// `PIPELINE.COLUMN.KEY`, where the pipeline is the label `pipeline_id` or the name of the job, and the key that of
    /// the item: the same in every job that fills the cell.
    pub id: String,
    pub pipeline: String,
    pub column: String,
    pub item: String,
    /// From 1.
    pub row: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    pub trial: i64,
    /// `pending`, `running`, `completed`, `failed` or `skipped`.
    pub state: CellState,
    /// The first 200 characters of the value.
    pub preview: Option<String>,
    /// The whole value, where one cell was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Of an evaluator.
    pub score: Option<Score>,
    /// Why the cell is failed, skipped, or pending again.
    pub reason: Option<String>,
    /// Calls made for the cell; reused results do not count.
    pub tries: u32,
    pub usage: Usage,
    pub duration_ms: Option<i64>,
    pub finished_at: Option<Timestamp>,
    /// The step that is its record, among the steps of the item.
    pub step: Option<String>,
    /// That record, where one cell was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<StepView>,
}

/// Which item a cell belongs to.
pub struct CellPlace<'a> {
    pub pipeline: &'a str,
    pub item: String,
    pub key: String,
    pub row: i64,
    pub variant: Option<String>,
    pub trial: i64,
}

impl CellView {
    pub fn of(place: &CellPlace<'_>, cell: Cell) -> Self {
        Self {
            id: format!("{}.{}.{}", place.pipeline, cell.column, place.key),
            pipeline: place.pipeline.to_owned(),
            item: place.item.clone(),
            row: place.row,
            variant: place.variant.clone(),
            trial: place.trial,
            state: cell.state,
            preview: cell.value.as_deref().map(preview),
            value: cell.value,
            score: cell.score,
            reason: cell.reason,
            tries: cell.tries,
            usage: cell.usage,
            duration_ms: cell.took_ms,
            finished_at: cell.finished_at.map(Into::into),
            step: cell.step.map(|step| step.to_string()),
            record: None,
            column: cell.column,
        }
    }

    /// As an entry of a list.
    pub fn shortened(self) -> Self {
        Self { value: None, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CellList {
    /// By item and column. The cells of an item are never split between pages.
    pub cells: Vec<CellView>,
    /// Cursor for `after` to get the next page; null on the last page.
    pub next: Option<String>,
}
