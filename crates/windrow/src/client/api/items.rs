//! The units of a job's work.

use windrow_model::ItemId;
use windrow_model::state::ItemState;
use windrow_wire::{ItemDetailView, ItemList};

use crate::app::detail;
use crate::app::error::{Code, Error, Result};
use crate::app::items::{self, Asked};
use crate::app::lookup;
use crate::client::api::Api;
use crate::client::api::PAGE;
use crate::client::remote::{NOTHING, Remote};

impl Api {
    pub async fn items(&self, job: &str, asked: Asked<'_>) -> Result<ItemList> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                items::page(app, &job, &latest, items::query(job.id, asked)?).await
            }
            Api::Remote(remote) => items_of(remote, job, asked).await,
        }
    }

    /// Whether some item of the job did not succeed.
    pub async fn has_failed(&self, job: &str) -> Result<bool> {
        for state in [ItemState::Failed, ItemState::Cancelled, ItemState::Queued] {
            let asked = Asked { state: Some(state), limit: 1, ..Asked::default() };
            if !self.items(job, asked).await?.items.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One item of the job.
    pub async fn item(&self, job: &str, item: i64) -> Result<ItemDetailView> {
        let runs = self.runs(job).await?.runs;
        let detail = match self {
            Api::Local(app) => detail::of_item(app, ItemId(item)).await?,
            Api::Remote(remote) => remote.get(&["items", &item.to_string()], NOTHING).await?,
        };
        if runs.iter().any(|run| run.id == detail.item.run) {
            return Ok(detail);
        }
        let remedy = format!("list them with `{}`", self.command(&format!("jobs items {job}")));
        Err(Error::new(format!("job {job} has no item {item}"), remedy).coded(Code::NotFound))
    }
}

/// A server gives so many at a time; the command line gives as many as were asked for.
async fn items_of(remote: &Remote, job: &str, asked: Asked<'_>) -> Result<ItemList> {
    let mut list = ItemList { items: Vec::new(), next: asked.after.map(str::to_owned) };
    loop {
        let limit = PAGE.min(asked.limit - list.items.len());
        if limit == 0 {
            return Ok(list);
        }
        let query = [
            ("state", asked.state.map(|state| state.to_string())),
            ("filter", asked.filter.map(str::to_owned)),
            ("sort", asked.sort.map(str::to_owned)),
            ("after", list.next.take()),
            ("limit", Some(limit.to_string())),
        ];
        let page: ItemList = remote.get(&["jobs", job, "items"], &query).await?;
        // It ends early where it looked at many items in vain; so does the folder's.
        let whole = page.items.len() == limit;
        list.items.extend(page.items);
        list.next = page.next;
        if list.next.is_none() || !whole {
            return Ok(list);
        }
    }
}
