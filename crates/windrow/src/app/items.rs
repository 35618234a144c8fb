//! From what a person or a program asks about a job's items to a page of them: what the command line and
//! the API have in common.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use windrow_model::JobId;
use windrow_model::gate::Comparison;
use windrow_model::item_query::{Condition, Cursor, Field, ItemQuery, QueryError, Sort, place};
use windrow_model::record::{Job, Run};
use windrow_model::state::ItemState;
use windrow_wire::{ItemList, ListedItem};

use crate::app::error::{Code, Error, Result};
use crate::app::exit::Exit;
use crate::app::wiring::App;

/// Items looked at for one page in the order of the items; a few hundred milliseconds.
const SCAN: usize = 200_000;

/// As it was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub state: Option<ItemState>,
    pub filter: Option<&'a str>,
    pub sort: Option<&'a str>,
    pub after: Option<&'a str>,
    pub limit: usize,
}

/// What is wrong with a question, and with which part of it.
#[derive(Debug)]
pub struct BadQuestion {
    pub field: &'static str,
    pub what: String,
    pub remedy: String,
}

impl From<BadQuestion> for Error {
    fn from(bad: BadQuestion) -> Self {
        Error::new(bad.what, bad.remedy).ending_with(Exit::Usage).coded(Code::BadRequest)
    }
}

pub fn query(job: JobId, asked: Asked<'_>) -> std::result::Result<ItemQuery, BadQuestion> {
    let filter = asked.filter.filter(|text| !text.trim().is_empty());
    let filter = filter.map(|text| Condition::parse(text).map_err(|error| misunderstood("filter", text, error)));
    let state = asked.state.map(|state| {
        let (field, comparison, value) = (Field::State, Comparison::Equal, place(state));
        Condition::Compare { field, comparison, value }
    });
    let condition = match (state, filter.transpose()?) {
        (Some(state), Some(filter)) => Some(state.and(filter)),
        (state, filter) => state.or(filter),
    };
    let sort = asked.sort.map(|text| Sort::parse(text).map_err(|error| misunderstood("sort", text, error)));
    let sort = sort.transpose()?;
    let after = asked.after.map(|text| cursor(text, sort.is_some())).transpose()?;
    Ok(ItemQuery { job, run: None, condition, sort, after, limit: asked.limit, scan: SCAN })
}

fn cursor(text: &str, sorted: bool) -> std::result::Result<Cursor, BadQuestion> {
    let bad = |what: String| {
        let remedy = "pass what the page before gave as `next`, with the same filter and order".to_owned();
        BadQuestion { field: "after", what, remedy }
    };
    match text.parse::<Cursor>().map_err(|error| bad(error.to_string()))? {
        Cursor::Item(_) if sorted => Err(bad(format!("{text:?} is a place in another order"))),
        Cursor::Sorted { .. } if !sorted => Err(bad(format!("{text:?} is a place in another order"))),
        cursor => Ok(cursor),
    }
}

fn misunderstood(field: &'static str, text: &str, error: QueryError) -> BadQuestion {
    let QueryError { at: Range { start, end }, message, help } = error;
    let place = text.get(..start).map_or(0, |before| before.chars().count()) + 1;
    let near = match text.get(start..end).unwrap_or_default() {
        "" => String::new(),
        near => format!(" (`{near}`)"),
    };
    BadQuestion { field, what: format!("`{field}`, character {place}{near}: {message}"), remedy: help }
}

pub async fn page(app: &App, job: &Job, latest: &Run, query: ItemQuery) -> Result<ItemList> {
    let page = app.store.search_items(query).await?;
    // Most are of the latest run; some may be of a few earlier ones.
    let mut runs = BTreeMap::from([(latest.id, latest.clone())]);
    for found in &page.items {
        if let Entry::Vacant(entry) = runs.entry(found.item.run) {
            entry.insert(app.store.run(found.item.run).await?);
        }
    }
    let items = page.items.iter().map(|found| ListedItem::of(&job.kind, &runs[&found.item.run], found)).collect();
    Ok(ItemList { items, next: page.next.map(|next| next.to_string()) })
}
