//! From what a person names to the items of a job: by id, targets by name, and waves.

use std::collections::BTreeMap;

use windrow_model::ItemId;
use windrow_model::record::{Item, Job};
use windrow_model::store::{ItemFilter, StoreError};
use windrow_wire::request::ItemRef;

use crate::app::App;
use crate::error::{Code, Error, Result};

const SCANNED: usize = 1_000;

/// The items that are meant: by id, and targets of an operation by name. All must be of this job.
pub async fn chosen_items(app: &App, job: &Job, chosen: &[ItemRef]) -> Result<Vec<ItemId>> {
    let (mut found, mut named) = (Vec::new(), BTreeMap::new());
    for one in chosen {
        let name = match one {
            ItemRef::Name(name) => name.clone(),
            ItemRef::Id(id) => match app.store.item(ItemId(*id)).await {
                Ok(detail) if detail.item.job == job.id => {
                    found.push(ItemId(*id));
                    continue;
                }
                Ok(_) | Err(StoreError::NotFound { .. }) => id.to_string(),
                Err(error) => return Err(error.into()),
            },
        };
        named.insert(windrow_operation::target_key(&name), name);
    }
    if job.kind == windrow_operation::KIND && !named.is_empty() {
        each_item(app, job, |item| {
            if named.remove(&item.key).is_some() {
                found.push(item.id);
            }
            !named.is_empty()
        })
        .await?;
    }
    let Some(name) = named.values().next() else { return Ok(found) };
    let (what, list) = match job.kind == windrow_operation::KIND {
        true => ("target", "targets"),
        false => ("item", "items"),
    };
    let remedy = format!("list them with `{}`", app.command(&format!("jobs {list} {}", job.name)));
    Err(Error::new(format!("{} has no {what} {name:?}", job.name), remedy).coded(Code::NotFound))
}

/// A wave counts from 1.
pub async fn check_wave(app: &App, job: &Job, wave: i64) -> Result<()> {
    let mut last = 0;
    each_item(app, job, |item| {
        last = last.max(item.wave + 1);
        last < wave
    })
    .await?;
    if (1..=last).contains(&wave) {
        return Ok(());
    }
    let what = format!("{} has no wave {wave}", job.name);
    Err(Error::new(what, format!("its waves are 1 to {last}")).coded(Code::NotFound))
}

/// Page by page, until `each` says that it is enough.
async fn each_item(app: &App, job: &Job, mut each: impl FnMut(&Item) -> bool) -> Result<()> {
    let mut after = None;
    loop {
        let filter = ItemFilter { job: job.id, run: None, state: None, after, limit: SCANNED };
        let items = app.store.items(filter).await?;
        if !items.iter().all(&mut each) || items.len() < SCANNED {
            return Ok(());
        }
        after = items.last().map(|item| item.id);
    }
}
