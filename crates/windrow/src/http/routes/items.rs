//! `/items`: the units of a job's work.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_model::state::ItemState;
use windrow_wire::{ItemDetailView, ItemList};

use crate::app::items;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, page};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ItemsQuery {
    /// Only items in this state
    #[param(inline)]
    state: Option<ItemState>,
    /// Only items of which this holds, like `state = failed and (latency_ms > 1000 or score.exact < 0.5)`.
    ///
    /// `and`, `or`, `not`, brackets; `= != < <= > >=`, `in (…)`, `not in (…)`, `is null`, `is not null`,
    /// `message ~ "part"`. Fields: id, row, state, tries, latency_ms, tokens_in, tokens_out, tokens, cost,
    /// finished_at, error, message, score.NAME (the lowest of the turns), verdict.NAME
    filter: Option<String>,
    /// One of these fields, or `-` and the field for the highest first; what is null comes last
    sort: Option<String>,
    /// Continue behind this place: `next` of the page before
    after: Option<String>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// The items of a job, as they stand now
///
/// A page may be shorter than the limit and yet have a `next`: it ends when 200,000 items were looked at.
#[utoipa::path(get, operation_id = "list_items", path = "/jobs/{job}/items", tag = "items",
    params(("job" = String, Path, description = "Name or id of the job"), ItemsQuery),
    responses((status = 200, description = "A page of items", body = ItemList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    Asked(query): Asked<ItemsQuery>,
) -> Result<Json<ItemList>, ApiError> {
    let asked = items::Asked {
        state: query.state,
        filter: query.filter.as_deref(),
        sort: query.sort.as_deref(),
        after: query.after.as_deref(),
        limit: page(query.limit, PAGE)?,
    };
    let (job, run) = caller.job(&server.app, &job).await?;
    let query = items::query(job.id, asked).map_err(|bad| ApiError::bad(bad.field, bad.what, bad.remedy))?;
    // An order of its own reads every item of the job.
    let _turn = match query.sort {
        Some(_) => Some(server.turn().await?),
        None => None,
    };
    Ok(Json(items::page(&server.app, &job, &run, query).await?))
}

/// One item: what went in, every attempt, every step, every score
#[utoipa::path(get, operation_id = "get_item", path = "/items/{item}", tag = "items",
    params(("item" = i64, Path, description = "Id of the item")),
    responses((status = 200, description = "The item", body = ItemDetailView)))]
pub async fn show(State(server): Shared, caller: Caller, Named(item): Named) -> Result<Json<ItemDetailView>, ApiError> {
    let id = item.parse().map_err(|_| {
        ApiError::bad(
            "item",
            format!("{item:?} is not the id of an item"),
            "it is a number, as the list of items shows it",
        )
    })?;
    let (job, detail) = caller.item(&server.app, ItemId(id)).await?;
    let run = server.app.store.run(detail.item.run).await?;
    Ok(Json(ItemDetailView::of(&job.kind, &run, &detail)))
}
