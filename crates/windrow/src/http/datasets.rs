//! `/datasets`: rows that are kept under a name.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{DatasetDetail, DatasetList, DatasetSummary};

use super::caller::Caller;
use super::extract::{Asked, Named};
use super::refusal::Refusal;
use super::server::Shared;
use crate::{dataset_named, detail};

const SAMPLE: usize = 5;
const MAX_SAMPLE: usize = 100;

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

/// All datasets and their newest versions
#[utoipa::path(get, operation_id = "list_datasets", path = "/datasets", tag = "datasets", params(DatasetsQuery),
    responses((status = 200, description = "The datasets", body = DatasetList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<DatasetsQuery>,
) -> Result<Json<DatasetList>, Refusal> {
    let workspace = query.workspace.as_deref().unwrap_or(caller.home());
    let found = match caller.sees(workspace) {
        true => server.app.datasets.datasets(workspace).await?,
        false => Vec::new(),
    };
    Ok(Json(DatasetList { datasets: found.iter().map(DatasetSummary::from).collect() }))
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
) -> Result<Json<DatasetDetail>, Refusal> {
    let rows = query.rows.unwrap_or(SAMPLE);
    if rows > MAX_SAMPLE {
        return Err(Refusal::bad("rows", format!("rows is {rows}"), format!("use 0 to {MAX_SAMPLE}")));
    }
    let workspace = query.workspace.as_deref().unwrap_or(caller.home());
    if !caller.sees(workspace) {
        return Err(dataset_named::unknown(&server.app, &name).into());
    }
    let named = dataset_named::Named { name, version: query.version };
    Ok(Json(detail::of_dataset(&server.app, workspace, &named, rows).await?))
}
