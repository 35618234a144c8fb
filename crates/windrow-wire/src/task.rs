//! Representation of tasks (T2, T11): jobs in the words of the task API.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::record::{Item, Job, Run};
use windrow_model::state::RunState;
use windrow_model::view::task::{TaskItemStatus, TaskStatus};
use windrow_model::view::{ItemView, RunView};
use windrow_results::cells::CellState;

use crate::{CellView, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EvalTask {
    pub id: String,
    pub name: String,
    pub workspace: String,
    pub pipeline_id: Option<Value>,
    pub column_id: Option<Value>,
    /// The owner.
    pub user_id: String,
    pub task_type: String,
    #[schema(value_type = String)]
    pub status: TaskStatus,
    pub priority: i64,
    /// Runs after the first one.
    pub current_retry: i64,
    /// Items of the whole task, whichever run executed them last; so are the following counts.
    pub total_items: i64,
    pub completed_items: i64,
    pub failed_items: i64,
    pub skipped_items: i64,
    pub error_message: Option<String>,
    /// When failed items are tried again, if the task waits for that.
    pub next_retry_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl EvalTask {
    pub fn of(job: &Job, run: &Run) -> Self {
        // Created and not started yet.
        let waits = run.state == RunState::Paused && run.started_at.is_none();
        let counters = &job.counters.all;
        Self {
            id: job.id.to_string(),
            name: job.name.clone(),
            workspace: job.workspace.clone(),
            pipeline_id: job.labels.extra.get("pipeline_id").cloned(),
            column_id: job.labels.extra.get("column_id").cloned(),
            user_id: job.labels.creator.clone(),
            task_type: job.kind.clone(),
            status: if waits { TaskStatus::Pending } else { TaskStatus::of(&RunView::of_job(job, run)) },
            priority: run.priority.get(),
            current_retry: run.no - 1,
            total_items: counters.total,
            completed_items: counters.succeeded,
            failed_items: counters.failed,
            skipped_items: counters.skipped + counters.cancelled,
            error_message: run.reason.clone(),
            next_retry_at: run.next_retry_at().map(Into::into),
            started_at: run.started_at.map(Into::into),
            completed_at: run.ended_at.map(Into::into),
            created_at: job.created_at.into(),
            updated_at: job.updated_at.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EvalTaskList {
    /// Newest first.
    pub tasks: Vec<EvalTask>,
    /// Cursor for `before` to get the next page; null on the last page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EvalTaskItem {
    pub id: String,
    /// From 1.
    pub row: i64,
    #[schema(value_type = String)]
    pub status: TaskItemStatus,
    pub retry_count: i64,
    /// When it is tried again, if it waits for that.
    pub next_retry_at: Option<Timestamp>,
    pub error_message: Option<String>,
    pub execution_time_ms: Option<i64>,
    pub completed_at: Option<Timestamp>,
    /// Of a task that fills one column of a pipeline: the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellView>,
}

impl EvalTaskItem {
    /// As the cell of a column. A cell whose evaluator did not apply is skipped.
    pub fn with_cell(self, cell: CellView) -> Self {
        let completed = self.status == TaskItemStatus::Completed;
        let skipped = completed && cell.state == CellState::Skipped;
        let status = if skipped { TaskItemStatus::Skipped } else { self.status };
        Self { status, cell: Some(cell), ..self }
    }

    pub fn of(item: &Item, run: &Run, next_retry_at: Option<Timestamp>) -> Self {
        Self {
            next_retry_at,
            id: item.id.to_string(),
            row: item.ordinal + 1,
            status: TaskItemStatus::of(&ItemView::of(item, run)),
            retry_count: (i64::from(item.tries) - 1).max(0),
            error_message: item.error.as_ref().map(|(class, message)| format!("{class}: {message}")),
            execution_time_ms: item.latency_ms,
            completed_at: item.finished_at.map(Into::into),
            cell: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EvalTaskItemList {
    pub items: Vec<EvalTaskItem>,
    /// Cursor for `after` to get the next page; null on the last page.
    pub next: Option<String>,
}
