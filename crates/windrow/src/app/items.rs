//! The items of a job: pages of them by filter and order, one in detail, and rows for an online run (E11).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use windrow_experiment::OnlineRows;
use windrow_model::SyntaxError;
use windrow_model::gate::Comparison;
use windrow_model::item_query::{Condition, Cursor, Field, ItemQuery, Sort, place};
use windrow_model::record::{Item, Job, Run};
use windrow_model::state::ItemState;
use windrow_model::store::NewItem;
use windrow_model::{ItemId, JobId, RunId};
use windrow_wire::{Fed, ItemDetailView, ItemList, ListedItem};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::views::scan;
use crate::app::{App, lookup, operations};
use crate::error::{Code, Error, Result};

/// Items scanned for one page in the order of the items; a few hundred milliseconds.
const SCAN: usize = 200_000;
/// Rows stored together.
pub const BATCH: usize = 500;
/// Items that wait for a worker before no more rows are accepted.
pub const QUEUED_AT_MOST: i64 = 10_000;

/// Which items, as the caller wrote it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listing<'a> {
    pub state: Option<ItemState>,
    pub filter: Option<&'a str>,
    pub sort: Option<&'a str>,
    pub after: Option<&'a str>,
    pub limit: usize,
}

pub async fn list(app: &App, actor: &Actor, job: &str, listing: Listing<'_>) -> Result<ItemList> {
    let (job, latest) = lookup::job(app, actor, job).await?;
    let page = app.store.search_items(query(job.id, listing)?).await?;
    // Most are of the latest run; some may be of a few earlier ones.
    let mut runs = BTreeMap::from([(latest.id, latest)]);
    for found in &page.items {
        if let Entry::Vacant(entry) = runs.entry(found.item.run) {
            entry.insert(app.store.run(found.item.run).await?);
        }
    }
    let mut items: Vec<_> =
        page.items.iter().map(|found| ListedItem::of(&job.kind, &runs[&found.item.run], found)).collect();
    if job.kind == windrow_operation::KIND {
        let statuses = operations::left_alone(app, page.items.iter().map(|found| &found.item), &runs).await?;
        for (listed, found) in items.iter_mut().zip(&page.items) {
            if let Some(status) = statuses.get(&found.item.id) {
                listed.item.status = status.to_string();
            }
        }
    }
    let found: Vec<&Item> = page.items.iter().map(|found| &found.item).collect();
    let removed = removed(app, &job, &found).await?;
    for (listed, found) in items.iter_mut().zip(&page.items) {
        listed.item.removed = removed.contains(&found.item.id);
    }
    Ok(ItemList { items, next: page.next.map(|next| next.to_string()) })
}

/// Those that the last run over the whole dataset did not find there. A retry of such an item does not bring it back.
async fn removed(app: &App, job: &Job, items: &[&Item]) -> Result<BTreeSet<ItemId>> {
    if job.kind != windrow_experiment::KIND {
        return Ok(BTreeSet::new());
    }
    let runs = app.store.runs(job.id).await?;
    let Some((whole, _)) = scan::whole(app, job, &runs).await? else { return Ok(BTreeSet::new()) };
    let planning: BTreeSet<RunId> = runs.iter().filter(|run| scan::plans(run)).map(|run| run.id).collect();
    let mut gone: BTreeSet<ItemId> = items.iter().filter(|item| item.run < whole).map(|item| item.id).collect();
    // A later run may have taken what the whole run did not find.
    let retried = items.iter().filter(|item| item.run > whole && !planning.contains(&item.run));
    let retried: Vec<ItemId> = retried.map(|item| item.id).collect();
    if !retried.is_empty() {
        for detail in app.store.outlines(retried).await? {
            if scan::planned(&detail, |run| planning.contains(&run)).is_some_and(|run| run < whole) {
                gone.insert(detail.item.id);
            }
        }
    }
    Ok(gone)
}

/// With the status words of the run that gave the item its state.
pub async fn show(app: &App, actor: &Actor, id: ItemId) -> Result<ItemDetailView> {
    let (job, detail) = lookup::item(app, actor, id).await?;
    let run = app.store.run(detail.item.run).await?;
    let mut shown = ItemDetailView::of(&job.kind, &run, &detail).with_trace_url(app.trace_url());
    if job.kind == windrow_operation::KIND {
        shown.item.status = windrow_operation::target_view(&detail, &run).status.to_string();
    }
    shown.item.removed = !removed(app, &job, &[&detail.item]).await?.is_empty();
    Ok(shown)
}

fn query(job: JobId, listing: Listing<'_>) -> Result<ItemQuery> {
    let filter = listing.filter.filter(|text| !text.trim().is_empty());
    let filter = filter.map(|text| Condition::parse(text).map_err(|error| misunderstood("filter", text, error)));
    let state = listing.state.map(|state| {
        let (field, comparison, value) = (Field::State, Comparison::Equal, place(state));
        Condition::Compare { field, comparison, value }
    });
    let condition = match (state, filter.transpose()?) {
        (Some(state), Some(filter)) => Some(state.and(filter)),
        (state, filter) => state.or(filter),
    };
    let sort = listing.sort.map(|text| Sort::parse(text).map_err(|error| misunderstood("sort", text, error)));
    let sort = sort.transpose()?;
    let after = listing.after.map(|text| cursor(text, sort.is_some())).transpose()?;
    Ok(ItemQuery { job, run: None, condition, sort, after, limit: listing.limit, scan: SCAN })
}

fn cursor(text: &str, sorted: bool) -> Result<Cursor> {
    let invalid = |what: String| {
        Error::invalid("after", what, "pass `next` of the previous page, with the same filter and order")
    };
    match text.parse::<Cursor>().map_err(|error| invalid(error.to_string()))? {
        Cursor::Item(_) if sorted => Err(invalid(format!("cursor {text:?} belongs to another order"))),
        Cursor::Sorted { .. } if !sorted => Err(invalid(format!("cursor {text:?} belongs to another order"))),
        cursor => Ok(cursor),
    }
}

fn misunderstood(field: &str, text: &str, error: SyntaxError) -> Error {
    let SyntaxError { at: Range { start, end }, message, help } = error;
    let place = text.get(..start).map_or(0, |before| before.chars().count()) + 1;
    let near = match text.get(start..end).unwrap_or_default() {
        "" => String::new(),
        near => format!(" (`{near}`)"),
    };
    Error::invalid(field, format!("`{field}`, character {place}{near}: {message}"), help)
}

/// An online run that accepts rows, and how it makes items of them.
pub async fn intake(app: &App, actor: &Actor, job: &str) -> Result<(Run, OnlineRows)> {
    let (_, run) = lookup::job(app, actor, job).await?;
    if run.counters.queued > QUEUED_AT_MOST {
        let what = format!("queue full: {} items are waiting", run.counters.queued);
        return Err(Error::new(what, "send the same rows again later").coded(Code::QueueFull));
    }
    let arrivals = arrivals(app, &run).await?;
    Ok((run, arrivals))
}

pub async fn arrivals(app: &App, run: &Run) -> Result<OnlineRows> {
    let spec = app.store.spec(&run.spec_hash).await?;
    OnlineRows::of(&spec, &app.environment()).map_err(|error| {
        let what = format!("cannot read the definition of run {}: {error}", run.no);
        Error::new(what, "submit the job file again")
    })
}

/// A row seen before is skipped, so a request whose answer was lost can be sent again.
pub async fn feed(app: &App, _change: &Change, run: &Run, items: Vec<NewItem>) -> Result<Fed> {
    let mut fed = Fed::default();
    let mut items = items.into_iter().peekable();
    loop {
        let batch: Vec<NewItem> = items.by_ref().take(BATCH).collect();
        // Also without a row: the answer tells whether the intake is open.
        fed += app.store.feed_items(run.id, batch, app.now()).await?;
        if items.peek().is_none() {
            return Ok(fed);
        }
    }
}
