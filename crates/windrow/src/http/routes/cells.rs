//! `/jobs/{job}/cells`, `/items/{item}/cells/{column}`: the cells of the result table.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_results::cells::CellState;
use windrow_wire::{CellList, CellView};

use crate::app::actor::Actor;
use crate::app::cells::{self, CellListing};
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query, id, page};
use crate::http::server::Shared;

const PAGE: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CellsQuery {
    /// Only cells of this column: an entry of `columns`, an evaluator, or `output` for a job without `columns`
    column: Option<String>,
    /// Only cells in this state
    #[param(value_type = Option<String>)]
    #[serde(alias = "status")]
    state: Option<CellState>,
    /// Cells of items after this one: `next` of the previous page
    after: Option<i64>,
    /// Minimum number of cells: a page ends with the item that reaches it
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// The cells of an experiment
///
/// A page ends after 10,000 items were read, even if fewer cells match, and then has a `next`.
#[utoipa::path(get, operation_id = "list_cells", path = "/jobs/{job}/cells", tag = "results",
    params(JobPath, CellsQuery), responses((status = 200, description = "A page of cells", body = CellList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<CellsQuery>,
) -> Result<Json<CellList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let _permit = server.heavy_request_permit().await?;
    let (column, state, after) = (query.column.as_deref(), query.state, query.after.map(ItemId));
    Ok(Json(cells::list(&server.app, &actor, &job, CellListing { column, state, after, limit }).await?))
}

/// A cell with its whole value and its record
#[utoipa::path(get, operation_id = "get_cell", path = "/items/{item}/cells/{column}", tag = "results",
    params(("item" = i64, Path, description = "Id of the item"),
        ("column" = String, Path, description = "Column or evaluator")),
    responses((status = 200, description = "The cell", body = CellView)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    Path((item, column)): Path<(String, String)>,
) -> Result<Json<CellView>, ApiError> {
    Ok(Json(cells::show(&server.app, &actor, ItemId(id("item", &item)?), &column).await?))
}
