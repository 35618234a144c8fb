//! `/items`: the units of a job's work.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_model::state::ItemState;
use windrow_model::store::ItemFilter;
use windrow_wire::{ItemDetailView, ItemList, ItemRow};

use super::caller::Caller;
use super::extract::{Asked, Named, page};
use super::refusal::Refusal;
use super::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ItemsQuery {
    /// Only items in this state
    #[param(inline)]
    state: Option<ItemState>,
    /// Continue behind this item: `next` of the page before
    after: Option<i64>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// The items of a job, as they stand now
#[utoipa::path(get, operation_id = "list_items", path = "/jobs/{job}/items", tag = "items",
    params(("job" = String, Path, description = "Name or id of the job"), ItemsQuery),
    responses((status = 200, description = "A page of items", body = ItemList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    Asked(query): Asked<ItemsQuery>,
) -> Result<Json<ItemList>, Refusal> {
    let limit = page(query.limit, PAGE)?;
    let (job, run) = caller.job(&server.app, &job).await?;
    let after = query.after.map(ItemId);
    let filter = ItemFilter { job: job.id, run: None, state: query.state, after, limit };
    let found = server.app.store.items(filter).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|item| item.id.0);
    let items = found.iter().map(|item| ItemRow::of(&job.kind, run.mode, item)).collect();
    Ok(Json(ItemList { items, next }))
}

/// One item: what went in, every attempt, every step, every score
#[utoipa::path(get, operation_id = "get_item", path = "/items/{item}", tag = "items",
    params(("item" = i64, Path, description = "Id of the item")),
    responses((status = 200, description = "The item", body = ItemDetailView)))]
pub async fn show(State(server): Shared, caller: Caller, Named(item): Named) -> Result<Json<ItemDetailView>, Refusal> {
    let id = item.parse().map_err(|_| {
        Refusal::bad(
            "item",
            format!("{item:?} is not the id of an item"),
            "it is a number, as the list of items shows it",
        )
    })?;
    let (job, detail) = caller.item(&server.app, ItemId(id)).await?;
    let run = server.app.store.run(detail.item.run).await?;
    Ok(Json(ItemDetailView::of(&job.kind, run.mode, &detail)))
}
