//! Slices that are fetched again from their start.

use std::collections::BTreeMap;

use windrow_engine::Request;
use windrow_model::ItemId;
use windrow_model::ingest::{Slice, Span};
use windrow_model::record::Job;
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::{ItemFilter, Selection};
use windrow_wire::Submitted;
use windrow_wire::request::Backfill;

use crate::app::audit::Change;
use crate::app::{App, lookup, submit};
use crate::error::{Code, Error, Result};

const PAGE: usize = 500;

pub async fn backfill(app: &App, change: &Change, job: &str, wish: Backfill, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    crate::app::ingest::check(app, &job)?;
    let items = chosen(app, &job, &wish).await?;
    if items.is_empty() {
        let remedy = format!("list its slices with `{}`", app.command(&format!("ingest lineage {}", job.name)));
        return Err(Error::new("no slice in that range", remedy).coded(Code::BadRequest));
    }
    let request = submit::of_run(app, change, &job, &latest, Mode::FailRetry).await?;
    let selection = Some(Selection { states: ItemState::ALL.to_vec(), items, ..Selection::default() });
    submit::start(app, Request { fresh: true, selection, idempotency_key: key, ..request }, Vec::new()).await
}

/// One item per slice: the newest.
async fn chosen(app: &App, job: &Job, wish: &Backfill) -> Result<Vec<ItemId>> {
    let (mut newest, mut after): (BTreeMap<String, ItemId>, _) = (BTreeMap::new(), None);
    loop {
        let filter = ItemFilter { job: job.id, run: None, state: None, after, limit: PAGE };
        let items = app.store.items(filter).await?;
        for outline in app.store.outlines(items.iter().map(|item| item.id).collect()).await? {
            if let Ok(slice) = outline.input.parse::<Slice>()
                && is_meant(wish, &slice)
            {
                newest.insert(slice.name, outline.item.id);
            }
        }
        match items.last() {
            Some(last) if items.len() == PAGE => after = Some(last.id),
            _ => return Ok(newest.into_values().collect()),
        }
    }
}

/// Windows and ranges that overlap the request.
fn is_meant(wish: &Backfill, slice: &Slice) -> bool {
    let named = wish.slices.is_empty() || wish.slices.contains(&slice.name);
    named
        && match &slice.span {
            // Moments in UTC sort as text.
            Span::Time { from, to, .. } => {
                wish.from.as_ref().is_none_or(|start| to > start) && wish.to.as_ref().is_none_or(|end| from < end)
            }
            Span::Keys { from, to } => {
                let key = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<i64>().ok());
                key(&wish.from).is_none_or(|start| *to > start) && key(&wish.to).is_none_or(|end| *from < end)
            }
            Span::All | Span::Value(_) => wish.from.is_none() && wish.to.is_none(),
        }
}
