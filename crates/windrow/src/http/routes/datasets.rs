//! `/datasets`: rows that are kept under a name.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{AddRowsRequest, DatasetDeleted, DatasetDetail, DatasetDiff, DatasetList, RowsAdded};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::lookup::DatasetName;
use crate::app::{dataset_add, datasets};
use crate::http::error::ApiError;
use crate::http::extract::{Body, DatasetPath, PathParam, Query, at_most};
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

const SAMPLE: usize = 5;
const MAX_SAMPLE: usize = 100;
const SHOWN: usize = 20;
const MAX_SHOWN: usize = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DatasetsQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DatasetQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
    /// The newest version if not given
    version: Option<i64>,
    /// Number of first rows in the response
    #[param(maximum = 100, default = 5)]
    rows: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
    /// The older version
    old: i64,
    /// The newest version if not given
    new: Option<i64>,
    /// Maximum number of rows of each kind
    #[param(minimum = 0, maximum = 1000, default = 20)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeleteQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
    /// All versions if not given
    version: Option<i64>,
}

/// All datasets and their newest versions
#[utoipa::path(get, operation_id = "list_datasets", path = "/datasets", tag = "datasets", params(DatasetsQuery),
    responses((status = 200, description = "The datasets", body = DatasetList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<DatasetsQuery>,
) -> Result<Json<DatasetList>, ApiError> {
    Ok(Json(datasets::list(&server.app, &actor, query.workspace.as_deref()).await?))
}

/// A dataset: its versions, its fields and their types, some rows
#[utoipa::path(get, operation_id = "get_dataset", path = "/datasets/{name}", tag = "datasets",
    params(DatasetPath, DatasetQuery),
    responses((status = 200, description = "The dataset", body = DatasetDetail)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    PathParam(name): PathParam,
    Query(query): Query<DatasetQuery>,
) -> Result<Json<DatasetDetail>, ApiError> {
    let rows = at_most("rows", query.rows, SAMPLE, MAX_SAMPLE)?;
    let named = DatasetName { name, version: query.version };
    Ok(Json(datasets::show(&server.app, &actor, query.workspace.as_deref(), &named, rows).await?))
}

/// Rows added, removed and changed from one version to another
///
/// Rows with the same field `id` are one row that changed.
#[utoipa::path(get, operation_id = "diff_dataset", path = "/datasets/{name}/diff", tag = "datasets",
    params(DatasetPath, DiffQuery),
    responses((status = 200, description = "The differences", body = DatasetDiff)))]
pub async fn diff(
    State(server): Shared,
    actor: Actor,
    PathParam(name): PathParam,
    Query(query): Query<DiffQuery>,
) -> Result<Json<DatasetDiff>, ApiError> {
    let limit = at_most("limit", query.limit, SHOWN, MAX_SHOWN)?;
    let (workspace, versions) = (query.workspace.as_deref(), (Some(query.old), query.new));
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(datasets::diff(&server.app, &actor, workspace, &name, versions, limit).await?))
}

/// Delete a dataset, or one version of it
///
/// Jobs keep the rows they have planned.
#[utoipa::path(delete, operation_id = "delete_dataset", path = "/datasets/{name}", tag = "datasets",
    params(DatasetPath, DeleteQuery),
    responses((status = 200, description = "The deleted versions", body = DatasetDeleted)))]
pub async fn delete(
    State(server): Shared,
    change: Change,
    PathParam(name): PathParam,
    Query(query): Query<DeleteQuery>,
    tag: IfMatch,
) -> Result<Json<DatasetDeleted>, ApiError> {
    let (named, workspace) = (DatasetName { name, version: query.version }, query.workspace.as_deref());
    let actor = change.actor.within(workspace)?;
    tag.check(&datasets::show(&server.app, &actor, workspace, &named, SAMPLE).await?)?;
    Ok(Json(datasets::delete(&server.app, &change, workspace, &named).await?))
}

/// Add rows of a job to a dataset, as a new version
///
/// The version has the rows of the newest one, and those selected rows that it does not have.
#[utoipa::path(post, operation_id = "add_dataset_rows", path = "/datasets/{name}/rows", tag = "datasets",
    params(DatasetPath, DatasetsQuery), request_body(content = AddRowsRequest),
    responses((status = 200, description = "What was added", body = RowsAdded)))]
pub async fn add_rows(
    State(server): Shared,
    change: Change,
    PathParam(name): PathParam,
    Query(query): Query<DatasetsQuery>,
    body: Body,
) -> Result<Json<RowsAdded>, ApiError> {
    let request: AddRowsRequest = body.json_only()?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(dataset_add::add(&server.app, &change, query.workspace.as_deref(), &name, request).await?))
}
