//! `/api/eval-tasks`: the task API (T11), in its own words (T2). A task is a job; either API shows both.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
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

pub fn router() -> Router<Arc<Server>> {
    Router::new()
        .route("/", get(list).post(create))
        .route("/stats", get(stats::of_all))
        .route("/health", get(health::show))
        .route("/{task}", get(show))
        .route("/{task}/items", get(items))
        .route("/{task}/start", post(resume))
        .route("/{task}/pause", post(pause))
        .route("/{task}/resume", post(resume))
        .route("/{task}/cancel", post(cancel))
        .route("/{task}/retry", post(retry))
        .route("/{task}/logs", get(logs::list))
        .route("/{task}/stats", get(stats::of_job))
}

type Answer = Result<Json<EvalTask>, ApiError>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TasksQuery {
    workspace: Option<String>,
    status: Option<TaskStatus>,
    pipeline_id: Option<String>,
    column_id: Option<String>,
    #[serde(alias = "user_id")]
    owner: Option<String>,
    /// `NAME=VALUE`
    label: Option<String>,
    created_after: Option<Timestamp>,
    created_before: Option<Timestamp>,
    before: Option<JobId>,
    limit: Option<usize>,
}

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

/// A task as JSON, or a job file as YAML.
async fn create(State(server): Shared, change: Change, key: IdempotencyKey, body: Body) -> Result<Response, ApiError> {
    if !body.is_one_of(&["application/json"]) {
        return job_files::submit(State(server), change, key, body).await;
    }
    let wish: EvalTaskRequest = body.object()?;
    let _permit = server.heavy_request_permit().await?;
    let task = tasks::create(&server.app, &change, wish, key.read()?, &*server).await?;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/api/eval-tasks/{}", task.id))], Json(task)).into_response())
}

async fn show(State(server): Shared, actor: Actor, PathParam(task): PathParam) -> Answer {
    Ok(Json(tasks::show(&server.app, &actor, &task).await?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemsQuery {
    after: Option<i64>,
    limit: Option<usize>,
}

async fn items(
    State(server): Shared,
    actor: Actor,
    PathParam(task): PathParam,
    Query(query): Query<ItemsQuery>,
) -> Result<Json<EvalTaskItemList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    Ok(Json(tasks::items(&server.app, &actor, &task, query.after.map(ItemId), limit).await?))
}

async fn pause(server: Shared, change: Change, task: PathParam, body: Body) -> Answer {
    request(server, change, task, RunEvent::Pause, body).await
}

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

async fn resume(State(server): Shared, change: Change, PathParam(task): PathParam) -> Answer {
    control::resume(&server.app, &change, &task, Resume::default()).await?;
    server.engine().wake();
    Ok(Json(tasks::show(&server.app, &change.actor, &task).await?))
}

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
