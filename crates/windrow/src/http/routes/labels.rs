//! `/jobs/{job}/labels|agreement`, `/items/{item}/labels`: what people say about results.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_wire::{AgreementView, LabelList, LabelRequest, Labelled};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::labels;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, id, page};
use crate::http::server::Shared;

const PAGE: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LabelsQuery {
    /// Cursor: `next` of the previous page
    #[param(minimum = 0, default = 0)]
    after: Option<i64>,
    /// Maximum number of labels
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ClearQuery {
    /// Why, for the history
    reason: Option<String>,
}

/// Label rows of a job, or correct what an evaluator found
///
/// Labels are added to the history of each item with the caller and the time. Computed scores stay as they are;
/// corrected numbers are shown next to them. The same labels again add nothing.
#[utoipa::path(post, operation_id = "label_items", path = "/jobs/{job}/labels", tag = "results", params(JobPath),
    request_body(content = LabelRequest),
    responses((status = 200, description = "How many were labelled", body = Labelled)))]
pub async fn label(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    body: Body,
) -> Result<Json<Labelled>, ApiError> {
    let request: LabelRequest = body.json_only()?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(labels::label(&server.app, &change, &job, request).await?))
}

/// Everything that people said about a job, oldest first
#[utoipa::path(get, operation_id = "list_labels", path = "/jobs/{job}/labels", tag = "results",
    params(JobPath, LabelsQuery), responses((status = 200, description = "A page of labels", body = LabelList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<LabelsQuery>,
) -> Result<Json<LabelList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    Ok(Json(labels::list(&server.app, &actor, &job, query.after.unwrap_or(0), limit).await?))
}

/// The history of the labels of an item
#[utoipa::path(get, operation_id = "list_item_labels", path = "/items/{item}/labels", tag = "results",
    params(("item" = i64, Path, description = "Id of the item")),
    responses((status = 200, description = "Its labels, oldest first", body = LabelList)))]
pub async fn of_item(
    State(server): Shared,
    actor: Actor,
    PathParam(item): PathParam,
) -> Result<Json<LabelList>, ApiError> {
    Ok(Json(labels::of_item(&server.app, &actor, ItemId(id("item", &item)?)).await?))
}

/// Clear a label of an item; its history stays
#[utoipa::path(delete, operation_id = "clear_label", path = "/items/{item}/labels/{name}", tag = "results",
    params(("item" = i64, Path, description = "Id of the item"),
        ("name" = String, Path, description = "Evaluator, `outcome`, `note` or a name of your own"), ClearQuery),
    responses((status = 204, description = "Cleared")))]
pub async fn clear(
    State(server): Shared,
    change: Change,
    Path((item, name)): Path<(String, String)>,
    Query(query): Query<ClearQuery>,
) -> Result<StatusCode, ApiError> {
    let item = ItemId(id("item", &item)?);
    labels::clear(&server.app, &change, item, &name, &query.reason.unwrap_or_default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How far the evaluators of a job agree with people
#[utoipa::path(get, operation_id = "get_agreement", path = "/jobs/{job}/agreement", tag = "results", params(JobPath),
    responses((status = 200, description = "Agreement by evaluator", body = AgreementView)))]
pub async fn agreement(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
) -> Result<Json<AgreementView>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(labels::agreement(&server.app, &actor, &job).await?))
}
