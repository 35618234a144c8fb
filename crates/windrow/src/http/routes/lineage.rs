//! `/runs/{run}/lineage`: where the data of a plan came from.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::Lineage;

use crate::app::ingest::{self, Wish};
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, page};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const PAGE: usize = 50;
const BATCHES: usize = 10;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LineageQuery {
    /// Only the slice of this name
    slice: Option<String>,
    /// Continue behind this item: `next` of the page before
    after: Option<i64>,
    /// At most this many slices
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
    /// The newest batches of each attempt
    #[param(minimum = 0, maximum = 1000, default = 10)]
    batches: Option<usize>,
}

/// From the schedule instance to the batches of a run of `kind: ingest`
#[utoipa::path(get, operation_id = "get_lineage", path = "/runs/{run}/lineage", tag = "runs",
    params(("run" = String, Path, description = "Id of the run, or `JOB` for its latest, or `JOB#3`"), LineageQuery),
    responses((status = 200, description = "The lineage", body = Lineage)))]
pub async fn show(
    State(server): Shared,
    caller: Caller,
    Named(run): Named,
    Asked(query): Asked<LineageQuery>,
) -> Result<Json<Lineage>, ApiError> {
    let (job, run) = caller.run(&server.app, &run).await?;
    let limit = page(query.limit, PAGE)?;
    let batches = query.batches.unwrap_or(BATCHES).min(1000);
    let wish = Wish { slice: query.slice, after: query.after, limit, batches };
    Ok(Json(ingest::lineage(&server.app, &job, &run, wish).await?))
}
