//! `/items`: the items of a job.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_model::state::ItemState;
use windrow_model::view::filter;
use windrow_wire::{ItemDetailView, ItemHistory, ItemList, TextPage};

use crate::app::actor::Actor;
use crate::app::item_history;
use crate::app::items::{self, Listing};
use crate::app::texts as whole_texts;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query, id, page};
use crate::http::live::texts;
use crate::http::server::Shared;

const PAGE: usize = 50;
const RUNS: usize = 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ItemsQuery {
    /// Only items in this state; a public status is accepted, too
    #[param(value_type = Option<String>)]
    #[serde(default, alias = "status", deserialize_with = "filter::deserialize_item_state")]
    state: Option<ItemState>,
    /// Filter expression, e.g. `state = failed and (latency_ms > 1000 or score.exact < 0.5)`.
    ///
    /// `and`, `or`, `not`, brackets; `= != < <= > >=`, `in (…)`, `not in (…)`, `is null`, `is not null`,
    /// `message ~ "part"`. Fields: id, row, state, tries, latency_ms, tokens_in, tokens_out, tokens, cost,
    /// finished_at, error, message, score.NAME (the lowest of the turns), verdict.NAME
    filter: Option<String>,
    /// One of these fields; `-` before it for descending order. Null sorts last
    sort: Option<String>,
    /// Cursor: `next` of the previous page
    after: Option<String>,
    /// Maximum number of items
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// The items of a job
///
/// A page may be shorter than the limit and still have a `next`: it ends after 200,000 items were scanned.
#[utoipa::path(get, operation_id = "list_items", path = "/jobs/{job}/items", tag = "items",
    params(JobPath, ItemsQuery),
    responses((status = 200, description = "A page of items", body = ItemList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<ItemsQuery>,
) -> Result<Json<ItemList>, ApiError> {
    let listing = Listing {
        state: query.state,
        filter: query.filter.as_deref(),
        sort: query.sort.as_deref(),
        after: query.after.as_deref(),
        limit: page(query.limit, PAGE)?,
    };
    // Sorting reads every item of the job.
    let _permit = match query.sort {
        Some(_) => Some(server.heavy_request_permit().await?),
        None => None,
    };
    Ok(Json(items::list(&server.app, &actor, &job, listing).await?))
}

/// An item: its input, attempts, steps and scores
#[utoipa::path(get, operation_id = "get_item", path = "/items/{item}", tag = "items",
    params(("item" = i64, Path, description = "Id of the item")),
    responses((status = 200, description = "The item", body = ItemDetailView)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    PathParam(item): PathParam,
) -> Result<Json<ItemDetailView>, ApiError> {
    let item = ItemId(id("item", &item)?);
    let mut shown = items::show(&server.app, &actor, item).await?;
    shown.streaming = server.engine().live().of_item(item).map(texts::whole);
    Ok(Json(shown))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ChunkQuery {
    /// Bytes to skip
    #[param(minimum = 0, default = 0)]
    offset: Option<usize>,
    /// Maximum number of bytes; a chunk ends between two characters
    #[param(minimum = 4, maximum = 1_048_576, default = 1_048_576)]
    limit: Option<usize>,
}

/// A text of an item in full, in chunks of at most 1 MiB
///
/// Names are those of the query language: `input`, `output`, `output.COLUMN`, `expected`, `message`, `field.NAME`,
/// `reason.NAME`. Read on at `next` until it is null.
#[utoipa::path(get, operation_id = "get_item_text", path = "/items/{item}/texts/{name}", tag = "items",
    params(("item" = i64, Path, description = "Id of the item"),
        ("name" = String, Path, description = "Name of the text"), ChunkQuery),
    responses((status = 200, description = "A chunk of the text", body = TextPage)))]
pub async fn text(
    State(server): Shared,
    actor: Actor,
    Path((item, name)): Path<(String, String)>,
    Query(query): Query<ChunkQuery>,
) -> Result<Json<TextPage>, ApiError> {
    let item = ItemId(id("item", &item)?);
    let (offset, limit) = (query.offset.unwrap_or(0), query.limit.unwrap_or(whole_texts::CHUNK));
    Ok(Json(whole_texts::chunk(&server.app, &actor, item, &name, offset, limit).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// Maximum number of runs
    #[param(minimum = 1, maximum = 1000, default = 20)]
    limit: Option<usize>,
}

/// An item in the last runs of its job, newest first
#[utoipa::path(get, operation_id = "get_item_history", path = "/items/{item}/history", tag = "items",
    params(("item" = i64, Path, description = "Id of the item"), HistoryQuery),
    responses((status = 200, description = "What each run made of the item", body = ItemHistory)))]
pub async fn history(
    State(server): Shared,
    actor: Actor,
    PathParam(item): PathParam,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<ItemHistory>, ApiError> {
    let limit = page(query.limit, RUNS)?;
    Ok(Json(item_history::show(&server.app, &actor, ItemId(id("item", &item)?), limit).await?))
}
