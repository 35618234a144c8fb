//! The items of a job.

use windrow_model::ItemId;
use windrow_wire::request::ItemRef;
use windrow_wire::{CellList, CellView, ItemDetailView, ItemList};

use crate::app::cells::{self, CellListing};
use crate::app::items::{self, Listing};
use crate::app::operations::TargetFilter;
use crate::app::{choose, lookup, submit};
use crate::client::api::{Api, PAGE};
use crate::client::remote::{NOTHING, Remote};
use crate::error::{Code, Error, Result};

impl Api {
    pub async fn items(&self, job: &str, listing: Listing<'_>) -> Result<ItemList> {
        match self {
            Api::Local(app, actor) => items::list(app, actor, job, listing).await,
            Api::Remote(remote) => items_of(remote, job, listing).await,
        }
    }

    pub async fn cells(&self, job: &str, listing: CellListing<'_>) -> Result<CellList> {
        match self {
            Api::Local(app, actor) => cells::list(app, actor, job, listing).await,
            Api::Remote(remote) => {
                let query = [
                    ("column", listing.column.map(str::to_owned)),
                    ("state", listing.state.map(|state| state.to_string())),
                    ("after", listing.after.map(|item| item.to_string())),
                    ("limit", Some(listing.limit.min(PAGE).to_string())),
                ];
                remote.get(&["jobs", job, "cells"], &query).await
            }
        }
    }

    pub async fn cell(&self, job: &str, item: &str, column: &str) -> Result<CellView> {
        let item = self.item(job, item).await?.item.id;
        match self {
            Api::Local(app, actor) => cells::show(app, actor, ItemId(item.parse().unwrap_or_default()), column).await,
            Api::Remote(remote) => remote.get(&["items", &item, "cells", column], NOTHING).await,
        }
    }

    /// Whether a retry would have any items.
    pub async fn has_failed(&self, job: &str) -> Result<bool> {
        for state in submit::UNSUCCESSFUL {
            let listing = Listing { state: Some(state), limit: 1, ..Listing::default() };
            if !self.items(job, listing).await?.items.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One item of the job.
    /// By its id, or as a target of an operation by its name.
    pub async fn item(&self, job: &str, item: &str) -> Result<ItemDetailView> {
        let item = self.item_id(job, item).await?;
        let runs = self.runs(job).await?.runs;
        let detail = match self {
            Api::Local(app, actor) => items::show(app, actor, ItemId(item)).await?,
            Api::Remote(remote) => match remote.get(&["items", &item.to_string()], NOTHING).await {
                Err(error) if error.is(Code::NotFound) => return Err(self.no_item(job, item)),
                found => found?,
            },
        };
        match runs.iter().any(|run| run.id == detail.item.run) {
            true => Ok(detail),
            false => Err(self.no_item(job, item)),
        }
    }

    fn no_item(&self, job: &str, item: i64) -> Error {
        let remedy = format!("list them with `{}`", self.command(&format!("jobs items {job}")));
        Error::new(format!("{job} has no item \"{item}\""), remedy).coded(Code::NotFound)
    }

    async fn item_id(&self, job: &str, item: &str) -> Result<i64> {
        let Ok(chosen) = item.parse::<ItemRef>();
        if let Api::Local(app, actor) = self {
            let job = lookup::job(app, actor, job).await?.0;
            return Ok(choose::chosen_items(app, &job, &[chosen]).await?.first().map_or(0, |item| item.0));
        }
        let name = match chosen {
            ItemRef::Id(id) => return Ok(id),
            ItemRef::Name(name) => name,
        };
        let mut wanted = TargetFilter { limit: PAGE, ..TargetFilter::default() };
        loop {
            let page = self.targets(job, wanted.clone()).await?;
            if let Some(target) = page.targets.iter().find(|target| target.target == name) {
                return Ok(target.item.parse().unwrap_or_default());
            }
            wanted.after = page.next.and_then(|next| next.parse().ok()).map(ItemId);
            if wanted.after.is_none() {
                let remedy = format!("list them with `{}`", self.command(&format!("jobs targets {job}")));
                return Err(Error::new(format!("{job} has no target {name:?}"), remedy).coded(Code::NotFound));
            }
        }
    }
}

/// A server limits its pages; the command line shows as many items as were asked for.
async fn items_of(remote: &Remote, job: &str, listing: Listing<'_>) -> Result<ItemList> {
    let mut list = ItemList { items: Vec::new(), next: listing.after.map(str::to_owned) };
    loop {
        let limit = PAGE.min(listing.limit - list.items.len());
        if limit == 0 {
            return Ok(list);
        }
        let query = [
            ("state", listing.state.map(|state| state.to_string())),
            ("filter", listing.filter.map(str::to_owned)),
            ("sort", listing.sort.map(str::to_owned)),
            ("after", list.next.take()),
            ("limit", Some(limit.to_string())),
        ];
        let page: ItemList = remote.get(&["jobs", job, "items"], &query).await?;
        // A page ends early after a long scan without a match, here as on a server.
        let whole = page.items.len() == limit;
        list.items.extend(page.items);
        list.next = page.next;
        if list.next.is_none() || !whole {
            return Ok(list);
        }
    }
}
