//! Slices that are fetched again from their start.

use std::collections::{BTreeMap, BTreeSet};

use windrow_engine::Request;
use windrow_ingest::{Range, range_of};
use windrow_model::ItemId;
use windrow_model::ingest::Slice;
use windrow_model::record::Job;
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::{ItemFilter, Selection};
use windrow_model::suggest;
use windrow_wire::Submitted;
use windrow_wire::request::Backfill;

use crate::app::audit::Change;
use crate::app::{App, lookup, submit};
use crate::error::{Code, Error, Result};

const PAGE: usize = 500;

pub async fn backfill(app: &App, change: &Change, job: &str, wish: Backfill, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    crate::app::ingest::check(app, &job)?;
    let spec = app.store.spec(&latest.spec_hash).await?;
    let range = range_of(&spec, wish.from.as_deref(), wish.to.as_deref())
        .map_err(|wrong| Error::invalid(wrong.field, wrong.what, wrong.help))?;
    let items = chosen(app, &job, &wish, &range).await?;
    if items.is_empty() {
        let remedy = format!("list its slices with `{}`", app.command(&format!("ingest lineage {}", job.name)));
        return Err(Error::new("no slice in that range", remedy).coded(Code::BadRequest));
    }
    let request = submit::of_run(app, change, &job, &latest, Mode::FailRetry).await?;
    let selection = Some(Selection { states: ItemState::ALL.to_vec(), items, ..Selection::default() });
    submit::start(app, Request { fresh: true, selection, idempotency_key: key, ..request }, Vec::new()).await
}

/// One item per slice: the newest.
async fn chosen(app: &App, job: &Job, wish: &Backfill, range: &Range) -> Result<Vec<ItemId>> {
    let (mut newest, mut after): (BTreeMap<String, ItemId>, _) = (BTreeMap::new(), None);
    let mut unknown: BTreeSet<&str> = wish.slices.iter().map(String::as_str).collect();
    let mut nearest: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let filter = ItemFilter { job: job.id, run: None, state: None, after, limit: PAGE };
        let items = app.store.items(filter).await?;
        for outline in app.store.outlines(items.iter().map(|item| item.id).collect()).await? {
            let Ok(slice) = outline.input.parse::<Slice>() else { continue };
            unknown.remove(slice.name.as_str());
            for name in &unknown {
                // The nearest of those seen so far: there may be a million of them.
                let known = nearest.get(*name).map(String::as_str);
                if let Some(meant) = suggest::nearest(name, known.into_iter().chain([slice.name.as_str()])) {
                    nearest.insert((*name).to_owned(), meant.to_owned());
                }
            }
            let is_named = wish.slices.is_empty() || wish.slices.contains(&slice.name);
            if is_named && range.overlaps(&slice.span) {
                newest.insert(slice.name, outline.item.id);
            }
        }
        match items.last() {
            Some(last) if items.len() == PAGE => after = Some(last.id),
            _ => break,
        }
    }
    let Some(name) = unknown.first() else { return Ok(newest.into_values().collect()) };
    let listed = format!("list its slices with `{}`", app.command(&format!("ingest lineage {}", job.name)));
    let remedy = nearest.get(*name).map_or(listed, |meant| format!("did you mean {meant:?}?"));
    Err(Error::invalid("slices", format!("{} has no slice {name:?}", job.name), remedy))
}
