//! Pages of a dataset, for planning. The reader stays open between two pages, because some formats
//! can be continued in the middle only by reading what is before it. A page asked for at any other
//! place opens the file anew, so the same cursor always yields the same page.

use std::sync::{Arc, Mutex, PoisonError};

use windrow_model::priority::Priority;
use windrow_model::store::NewItem;
use windrow_model::workload::SourcePage;
use windrow_model::{ErrorClass, Failure, Json};

use super::{Library, Place, ReadError, Row, Rows, Source};

/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

pub struct Pager {
    source: Arc<Source>,
    library: Option<Library>,
    open: Arc<Mutex<Option<Box<dyn Rows>>>>,
}

impl Pager {
    pub fn new(source: Source, library: Option<Library>) -> Self {
        Self { source: Arc::new(source), library, open: Arc::default() }
    }

    pub async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let place = match cursor {
            None => Place::START,
            Some(cursor) => cursor.parse().map_err(|error| invalid(format!("the planning cursor is bad: {error}")))?,
        };
        let (source, library, open) = (self.source.clone(), self.library.clone(), self.open.clone());
        let read = tokio::task::spawn_blocking(move || {
            let kept = open.lock().unwrap_or_else(PoisonError::into_inner).take();
            let rows = match kept {
                Some(rows) if rows.place() == place && place != Place::START => rows,
                _ => source.open(library.as_ref(), place).map_err(|error| failed(&source, error))?,
            };
            let (page, rows) = read_page(rows, limit).map_err(|error| failed(&source, error))?;
            *open.lock().unwrap_or_else(PoisonError::into_inner) = rows;
            Ok(page)
        });
        read.await.map_err(|error| Failure::new(ErrorClass::Handler, format!("reading the dataset: {error}")))?
    }
}

type Page = (SourcePage, Option<Box<dyn Rows>>);

fn read_page(mut rows: Box<dyn Rows>, limit: usize) -> Result<Page, ReadError> {
    let mut items = Vec::with_capacity(limit.min(1024));
    let mut bytes = 0;
    while items.len() < limit && bytes < PAGE_BYTES {
        let Some(row) = rows.next_row() else { break };
        let row = row?;
        bytes += row.text.len();
        items.push(item(row));
    }
    let done = rows.at_end()?;
    let page = SourcePage { items, cursor: Some(Json::of(&rows.place())), done };
    Ok((page, (!done).then_some(rows)))
}

fn item(row: Row) -> NewItem {
    NewItem {
        key: Row::key(row.fields),
        input: Json::from_text(row.text),
        priority: Priority::NORMAL,
        resource: None,
        not_before: None,
    }
}

fn failed(source: &Source, error: ReadError) -> Failure {
    invalid(match error {
        ReadError::Row(bad) => format!("{source}:{}: {}: {}; {}", bad.line, bad.message, bad.text, bad.help),
        ReadError::File(error) => format!("{source}: the dataset cannot be read: {error}"),
    })
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
