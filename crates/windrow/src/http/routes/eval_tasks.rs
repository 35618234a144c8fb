//! `/api/eval-tasks`: the task API (T11), in its own words (T2). A task is a job; either API shows both.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use windrow_model::state::RunEvent;
use windrow_model::view::task::TaskStatus;
use windrow_model::{ItemId, JobId};
use windrow_wire::request::{EvalTaskRequest, Reason, Resume, Retry};
use windrow_wire::{EvalTask, EvalTaskItemList, EvalTaskList, Timestamp};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::tasks::{self, TaskFilter};
use crate::app::{control, submit};
use crate::http::error::ApiError;
use crate::http::extract::{Body, PathParam, Query, page};
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::{health, logs, stats, submit as job_files};
use crate::http::server::{Server, Shared};

const PAGE: usize = 50;

pub fn router() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .route("/stats", get(stats::of_all))
        .route("/health", get(health::show))
        .routes(routes!(show))
        .routes(routes!(items))
        .routes(routes!(start))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(cancel))
        .routes(routes!(retry))
        .route("/{task}/logs", get(logs::list))
        .route("/{task}/stats", get(stats::of_job))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes the path, which `PathParam` reads")]
struct TaskPath {
    /// Name or id of the task
    task: String,
}

type Answer = Result<Json<EvalTask>, ApiError>;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct TasksQuery {
    workspace: Option<String>,
    #[param(value_type = Option<String>)]
    status: Option<TaskStatus>,
    pipeline_id: Option<String>,
    column_id: Option<String>,
    #[serde(alias = "user_id")]
    owner: Option<String>,
    /// `NAME=VALUE`
    label: Option<String>,
    /// RFC 3339
    #[param(value_type = Option<String>)]
    created_after: Option<Timestamp>,
    /// RFC 3339
    #[param(value_type = Option<String>)]
    created_before: Option<Timestamp>,
    /// Tasks created before this one: `next` of the previous page
    #[param(value_type = Option<String>)]
    before: Option<JobId>,
    /// Maximum number of tasks
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Jobs as tasks, newest first
#[utoipa::path(get, operation_id = "list_tasks", path = "/", tag = "eval-tasks", params(TasksQuery),
    responses((status = 200, description = "A page of tasks", body = EvalTaskList)))]
async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<TasksQuery>,
) -> Result<Json<EvalTaskList>, ApiError> {
    let label = query.label.as_deref().map(|text| {
        let wrong = || ApiError::bad("label", "`label` must be NAME=VALUE", "");
        text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(wrong)
    });
    let filter = TaskFilter {
        workspace: query.workspace,
        status: query.status,
        pipeline_id: query.pipeline_id,
        column_id: query.column_id,
        owner: query.owner,
        label: label.transpose()?,
        created_after: query.created_after.map(Into::into),
        created_before: query.created_before.map(Into::into),
        before: query.before,
        limit: page(query.limit, PAGE)?,
    };
    Ok(Json(tasks::list(&server.app, &actor, filter).await?))
}

/// Create a task
///
/// A task as JSON, or a job file as YAML.
#[utoipa::path(post, operation_id = "create_task", path = "/", tag = "eval-tasks", params(IdempotencyKey),
    request_body(content((EvalTaskRequest = "application/json"), (String = "text/yaml"))),
    responses((status = 201, description = "Created; `Location` is the task", body = EvalTask)))]
async fn create(State(server): Shared, change: Change, key: IdempotencyKey, body: Body) -> Result<Response, ApiError> {
    if !body.is_one_of(&["application/json"]) {
        return job_files::submit(State(server), change, key, body).await;
    }
    let wish: EvalTaskRequest = body.object()?;
    let _permit = server.heavy_request_permit().await?;
    let task = tasks::create(&server.app, &change, wish, key.read()?, &*server.running()).await?;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/api/eval-tasks/{}", task.id))], Json(task)).into_response())
}

/// A task
#[utoipa::path(get, operation_id = "get_task", path = "/{task}", tag = "eval-tasks", params(TaskPath),
    responses((status = 200, description = "The task", body = EvalTask)))]
async fn show(State(server): Shared, actor: Actor, PathParam(task): PathParam) -> Answer {
    Ok(Json(tasks::show(&server.app, &actor, &task).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ItemsQuery {
    /// Items after this one: `next` of the previous page
    after: Option<i64>,
    /// Maximum number of items
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// The items of a task
#[utoipa::path(get, operation_id = "list_task_items", path = "/{task}/items", tag = "eval-tasks",
    params(TaskPath, ItemsQuery),
    responses((status = 200, description = "A page of items", body = EvalTaskItemList)))]
async fn items(
    State(server): Shared,
    actor: Actor,
    PathParam(task): PathParam,
    Query(query): Query<ItemsQuery>,
) -> Result<Json<EvalTaskItemList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    Ok(Json(tasks::items(&server.app, &actor, &task, query.after.map(ItemId), limit).await?))
}

/// Start no new items until the task is resumed
#[utoipa::path(post, operation_id = "pause_task", path = "/{task}/pause", tag = "eval-tasks", params(TaskPath),
    request_body(content = Option<Reason>),
    responses((status = 200, description = "The task", body = EvalTask)))]
async fn pause(server: Shared, change: Change, task: PathParam, body: Body) -> Answer {
    request(server, change, task, RunEvent::Pause, body).await
}

/// End the task: no new items start, running items finish
#[utoipa::path(post, operation_id = "cancel_task", path = "/{task}/cancel", tag = "eval-tasks", params(TaskPath),
    request_body(content = Option<Reason>),
    responses((status = 200, description = "The task", body = EvalTask)))]
async fn cancel(server: Shared, change: Change, task: PathParam, body: Body) -> Answer {
    request(server, change, task, RunEvent::Cancel, body).await
}

async fn request(
    State(server): Shared,
    change: Change,
    PathParam(task): PathParam,
    event: RunEvent,
    body: Body,
) -> Answer {
    let Reason { reason } = body.json_or_default()?;
    control::request_transition(&server.app, &change, &task, event, reason.as_deref()).await?;
    server.engine().wake();
    Ok(Json(tasks::show(&server.app, &change.actor, &task).await?))
}

/// Start a task that was created without starting it
#[utoipa::path(post, operation_id = "start_task", path = "/{task}/start", tag = "eval-tasks", params(TaskPath),
    responses((status = 200, description = "The task", body = EvalTask)))]
async fn start(server: Shared, change: Change, task: PathParam) -> Answer {
    resume(server, change, task).await
}

/// Resume a paused task
#[utoipa::path(post, operation_id = "resume_task", path = "/{task}/resume", tag = "eval-tasks", params(TaskPath),
    responses((status = 200, description = "The task", body = EvalTask)))]
async fn resume(State(server): Shared, change: Change, PathParam(task): PathParam) -> Answer {
    control::resume(&server.app, &change, &task, Resume::default()).await?;
    server.engine().wake();
    Ok(Json(tasks::show(&server.app, &change.actor, &task).await?))
}

/// Retry failed and cancelled items of a task
#[utoipa::path(post, operation_id = "retry_task", path = "/{task}/retry", tag = "eval-tasks",
    params(TaskPath, IdempotencyKey),
    responses((status = 201, description = "The task", body = EvalTask)))]
async fn retry(
    State(server): Shared,
    change: Change,
    PathParam(task): PathParam,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish: Retry = body.json_or_default()?;
    submit::retry(&server.app, &change, &task, wish, key.read()?).await?;
    Ok((StatusCode::CREATED, Json(tasks::show(&server.app, &change.actor, &task).await?)).into_response())
}
