//! Slices that are fetched again from their start.

use std::collections::{BTreeMap, BTreeSet};

use windrow_engine::Request;
use windrow_ingest::{Range, range_of};
use windrow_model::ItemId;
use windrow_model::ingest::Slice;
use windrow_model::record::{Job, Run};
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::{ItemFilter, Selection};
use windrow_model::suggest;
use windrow_wire::request::Backfill;
use windrow_wire::{BackfillPreview, BackfillSlice, Submitted, TaskRunNode};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::{App, lookup, submit};
use crate::error::{Code, Error, Result};

const PAGE: usize = 500;
/// Slices that a preview names.
const LISTED: usize = 100;

pub async fn backfill(app: &App, change: &Change, job: &str, wish: Backfill, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    let items = slices(app, &job, &latest, &wish).await?.into_values().collect();
    let request = submit::of_run(app, change, &job, &latest, Mode::FailRetry).await?;
    let selection = Some(Selection { states: ItemState::ALL.to_vec(), items, ..Selection::default() });
    submit::start(app, Request { fresh: true, selection, idempotency_key: key, ..request }, Vec::new()).await
}

/// What [`backfill`] would fetch again. It starts nothing.
pub async fn preview_backfill(app: &App, actor: &Actor, job: &str, wish: Backfill) -> Result<BackfillPreview> {
    let (job, latest) = lookup::job(app, actor, job).await?;
    let found = slices(app, &job, &latest, &wish).await?;
    let listed = found.iter().take(LISTED).map(|(_, id)| *id).collect();
    let mut slices = Vec::with_capacity(LISTED);
    for outline in app.store.outlines(listed).await? {
        let item = &outline.item;
        let Ok(Slice { name, origin, .. }) = outline.input.parse() else { continue };
        let mut records = 0;
        // Every attempt resumes after the last page, so that together they count each record once.
        for attempt in outline.attempts.iter().filter(|attempt| attempt.run == item.run) {
            let newest = app.store.newest_steps(attempt.id, TaskRunNode::LEAST).await?;
            records += TaskRunNode::of(attempt, &origin, &newest, 0).stats.fetched;
        }
        slices.push(BackfillSlice { name, item: item.id.to_string(), records });
    }
    Ok(BackfillPreview { total: found.len() as i64, slices })
}

/// The slices by name; an error if there are none.
async fn slices(app: &App, job: &Job, latest: &Run, wish: &Backfill) -> Result<BTreeMap<String, ItemId>> {
    crate::app::ingest::check(app, job)?;
    let spec = app.store.spec(&latest.spec_hash).await?;
    let range = range_of(&spec, wish.from.as_deref(), wish.to.as_deref())
        .map_err(|wrong| Error::invalid(wrong.field, wrong.what, wrong.help))?;
    let found = chosen(app, job, wish, &range).await?;
    if found.is_empty() {
        let remedy = format!("list its slices with `{}`", app.command(&format!("ingest lineage {}", job.name)));
        return Err(Error::new("no slice in that range", remedy).coded(Code::BadRequest));
    }
    Ok(found)
}

/// One item per slice: the newest.
async fn chosen(app: &App, job: &Job, wish: &Backfill, range: &Range) -> Result<BTreeMap<String, ItemId>> {
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
    let Some(name) = unknown.first() else { return Ok(newest) };
    let listed = format!("list its slices with `{}`", app.command(&format!("ingest lineage {}", job.name)));
    let remedy = nearest.get(*name).map_or(listed, |meant| format!("did you mean {meant:?}?"));
    Err(Error::invalid("slices", format!("{} has no slice {name:?}", job.name), remedy))
}
