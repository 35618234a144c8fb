//! `/jobs/{job}/views|fields`: the result table of a job.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_wire::{FieldList, RebuiltTable, ResultView, TablePage, ViewRequest};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::views;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, page};
use crate::http::live::texts;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RowsQuery {
    /// Rows to skip
    #[param(minimum = 0, default = 0)]
    offset: Option<usize>,
    /// The page that has this item, instead of `offset`; its offset is a multiple of `limit`
    item: Option<i64>,
    /// Count rows of the dataset instead of items: `offset`, `limit` and `total` are of those, and each comes with the
    /// items of all variants and trials. For views in the order of the dataset
    #[param(default = false)]
    lines: Option<bool>,
    /// Maximum number of rows
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Ask the result table of a job: filter, order, groups, facets, differences to a baseline
///
/// The answer has the numbers of all rows that match, and the id of a snapshot of them. Its pages neither repeat nor
/// skip a row while a run is writing. A snapshot lives for ten minutes on the node that made it: behind a load balancer,
/// send requests for its pages to the same node, or create the view again after 410.
#[utoipa::path(post, operation_id = "create_view", path = "/jobs/{job}/views", tag = "results", params(JobPath),
    request_body(content = ViewRequest),
    responses((status = 200, description = "The numbers and the snapshot", body = ResultView)))]
pub async fn create(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    body: Body,
) -> Result<Json<ResultView>, ApiError> {
    let request: ViewRequest = body.json_or_default()?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(views::create(&server.app, &actor, &job, request).await?))
}

/// A page of the rows of a view; 410 when the view has expired
#[utoipa::path(get, operation_id = "list_view_rows", path = "/jobs/{job}/views/{view}/rows", tag = "results",
    params(JobPath, ("view" = String, Path, description = "Id of the view"), RowsQuery),
    responses((status = 200, description = "A page of rows", body = TablePage)))]
pub async fn rows(
    State(server): Shared,
    actor: Actor,
    Path((job, view)): Path<(String, String)>,
    Query(query): Query<RowsQuery>,
) -> Result<Json<TablePage>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let offset = query.offset.unwrap_or(0);
    let wanted = match (query.item, query.lines) {
        (Some(item), _) => views::Page::Of(ItemId(item)),
        (None, Some(true)) => views::Page::Lines(offset),
        (None, _) => views::Page::At(offset),
    };
    let mut page = views::rows(&server.app, &actor, &job, &view, wanted, limit).await?;
    for row in &mut page.rows {
        let text = row.item.parse().ok().and_then(|item| server.engine().live().of_item(ItemId(item)));
        row.streaming = text.map(texts::preview);
    }
    Ok(Json(page))
}

/// Read the result table of a job from the records again, and say what differed
///
/// The table is kept up by a log of changed rows; this does not trust the log. Nothing should differ.
#[utoipa::path(post, operation_id = "rebuild_results", path = "/jobs/{job}/results/rebuild", tag = "results",
    params(JobPath), responses((status = 200, description = "What differed", body = RebuiltTable)))]
pub async fn rebuild(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
) -> Result<Json<RebuiltTable>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(views::rebuild::rebuild(&server.app, &change, &job).await?))
}

/// The names of the query language for a job, with values to complete
#[utoipa::path(get, operation_id = "list_fields", path = "/jobs/{job}/fields", tag = "results", params(JobPath),
    responses((status = 200, description = "The names", body = FieldList)))]
pub async fn fields(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
) -> Result<Json<FieldList>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(views::fields(&server.app, &actor, &job).await?))
}
