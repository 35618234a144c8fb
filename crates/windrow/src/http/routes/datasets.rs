//! `/datasets`: rows that are kept under a name.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_jobfile::dataset::import;
use windrow_wire::{DatasetDeleted, DatasetDetail, DatasetDiff, DatasetList};

use crate::app::dataset_named;
use crate::app::detail;
use crate::app::listing;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named};
use crate::http::middleware::caller::Caller;
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
    /// The caller's, or `default`, if not given
    workspace: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DatasetQuery {
    /// The caller's, or `default`, if not given
    workspace: Option<String>,
    /// The newest if not given
    version: Option<i64>,
    /// How many of its first rows to give
    #[param(maximum = 100, default = 5)]
    rows: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// `default` if not given
    workspace: Option<String>,
    /// The older version
    old: i64,
    /// The newest if not given
    new: Option<i64>,
    /// How many rows of each kind to give
    #[param(minimum = 0, maximum = 1000, default = 20)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeleteQuery {
    /// `default` if not given
    workspace: Option<String>,
    /// All of them if not given
    version: Option<i64>,
}

/// All datasets and their newest versions
#[utoipa::path(get, operation_id = "list_datasets", path = "/datasets", tag = "datasets", params(DatasetsQuery),
    responses((status = 200, description = "The datasets", body = DatasetList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<DatasetsQuery>,
) -> Result<Json<DatasetList>, ApiError> {
    let workspace = query.workspace.as_deref().unwrap_or(caller.home());
    match caller.sees(workspace) {
        true => Ok(Json(listing::datasets(&server.app, workspace).await?)),
        false => Ok(Json(DatasetList { datasets: Vec::new() })),
    }
}

/// One dataset: its versions, its fields and their types, some rows
#[utoipa::path(get, operation_id = "get_dataset", path = "/datasets/{name}", tag = "datasets",
    params(("name" = String, Path, description = "Name of the dataset"), DatasetQuery),
    responses((status = 200, description = "The dataset", body = DatasetDetail)))]
pub async fn show(
    State(server): Shared,
    caller: Caller,
    Named(name): Named,
    Asked(query): Asked<DatasetQuery>,
) -> Result<Json<DatasetDetail>, ApiError> {
    let rows = query.rows.unwrap_or(SAMPLE);
    if rows > MAX_SAMPLE {
        return Err(ApiError::bad("rows", format!("rows is {rows}"), format!("use 0 to {MAX_SAMPLE}")));
    }
    let workspace = query.workspace.as_deref().unwrap_or(caller.home());
    if !caller.sees(workspace) {
        return Err(dataset_named::unknown(&server.app, &name).into());
    }
    let named = dataset_named::Named { name, version: query.version };
    Ok(Json(detail::of_dataset(&server.app, workspace, &named, rows).await?))
}

/// What one version has that another has not
///
/// Rows with the same field `id` are one row that changed.
#[utoipa::path(get, operation_id = "diff_dataset", path = "/datasets/{name}/diff", tag = "datasets",
    params(("name" = String, Path, description = "Name of the dataset"), DiffQuery),
    responses((status = 200, description = "The differences", body = DatasetDiff)))]
pub async fn diff(
    State(server): Shared,
    caller: Caller,
    Named(name): Named,
    Asked(query): Asked<DiffQuery>,
) -> Result<Json<DatasetDiff>, ApiError> {
    let limit = query.limit.unwrap_or(SHOWN);
    if limit > MAX_SHOWN {
        return Err(ApiError::bad("limit", format!("limit is {limit}"), format!("use 0 to {MAX_SHOWN}")));
    }
    let caller = caller.within(query.workspace.as_deref())?;
    let versions = (Some(query.old), query.new);
    let _turn = server.turn().await?;
    Ok(Json(detail::of_versions(&server.app, caller.home(), &name, versions, limit).await?))
}

/// Delete a dataset, or one version of it
///
/// Jobs keep the rows they have planned.
#[utoipa::path(delete, operation_id = "delete_dataset", path = "/datasets/{name}", tag = "datasets",
    params(("name" = String, Path, description = "Name of the dataset"), DeleteQuery),
    responses((status = 200, description = "What is gone", body = DatasetDeleted)))]
pub async fn delete(
    State(server): Shared,
    caller: Caller,
    Named(name): Named,
    Asked(query): Asked<DeleteQuery>,
    if_match: IfMatch,
) -> Result<Json<DatasetDeleted>, ApiError> {
    let named = dataset_named::Named { name, version: query.version };
    let caller = caller.within(query.workspace.as_deref())?;
    if_match.holds(&detail::of_dataset(&server.app, caller.home(), &named, SAMPLE).await?)?;
    let deleted = dataset_named::drop(&server.app, caller.home(), &named).await?;
    tokio::spawn(async move {
        if let Err(error) = import::sweep(&*server.app.datasets).await {
            tracing::warn!(%error, "could not sweep a deleted dataset; the next import or deletion does it");
        }
    });
    Ok(Json(deleted))
}
