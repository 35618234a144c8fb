//! Pages of a dataset, for planning. The reader stays open between two pages, because some formats
//! can be continued in the middle only by reading what is before it. A page asked for at any other
//! place opens the file again, so the same cursor always yields the same page.

use std::sync::{Arc, Mutex, PoisonError};

use windrow_model::store::NewItem;
use windrow_model::workload::SourcePage;
use windrow_model::{ErrorClass, Failure, Json};

use super::{Library, Position, ReadError, Row, Rows, Source};
use crate::spec::invalid_request;

/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

pub struct Pager {
    source: Arc<Source>,
    library: Option<Library>,
    /// A row becomes this many items, all on one page.
    per_row: usize,
    items_of: ItemsOf,
    open: Arc<Mutex<Option<Box<dyn Rows>>>>,
}

impl Pager {
    pub fn new(source: Source, library: Option<Library>, per_row: usize, items_of: ItemsOf) -> Self {
        Self { source: Arc::new(source), library, per_row, items_of, open: Arc::default() }
    }

    pub async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let position = match cursor {
            None => Position::START,
            Some(cursor) => {
                cursor.parse().map_err(|error| invalid_request(format!("the planning cursor is bad: {error}")))?
            }
        };
        let (source, library, open) = (self.source.clone(), self.library.clone(), self.open.clone());
        let (per_row, items_of) = (self.per_row, self.items_of.clone());
        let read = tokio::task::spawn_blocking(move || {
            let kept = open.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut rows = open_at(&source, library.as_ref(), kept, position)?;
            let page = read_page(&source, &mut *rows, limit, |row| items_of(row), per_row)?;
            let rows = (!page.done).then_some(rows);
            *open.lock().unwrap_or_else(PoisonError::into_inner) = rows;
            Ok(page)
        });
        read.await.map_err(|error| Failure::new(ErrorClass::Handler, format!("reading the dataset: {error}")))?
    }
}

/// What a row becomes.
pub type ItemsOf = Arc<dyn Fn(Row) -> Vec<NewItem> + Send + Sync>;

/// Where the last page ended, or anywhere else.
fn open_at(
    source: &Source,
    library: Option<&Library>,
    kept: Option<Box<dyn Rows>>,
    position: Position,
) -> Result<Box<dyn Rows>, Failure> {
    match kept {
        Some(rows) if rows.position() == position && position != Position::START => Ok(rows),
        _ => source.open(library, position).map_err(|error| unreadable(source, error)),
    }
}

fn read_page(
    source: &Source,
    rows: &mut dyn Rows,
    limit: usize,
    items_of: impl Fn(Row) -> Vec<NewItem>,
    per_row: usize,
) -> Result<SourcePage, Failure> {
    let mut items = Vec::with_capacity(limit.min(1024));
    let mut bytes = 0;
    while (items.is_empty() || items.len() + per_row <= limit) && bytes < PAGE_BYTES {
        let Some(row) = rows.next_row() else { break };
        let row = row.map_err(|error| unreadable(source, error))?;
        bytes += row.text.len() * per_row;
        items.extend(items_of(row));
    }
    let done = rows.at_end().map_err(|error| unreadable(source, error))?;
    Ok(SourcePage { items, cursor: Some(Json::of(&rows.position())), done })
}

fn unreadable(source: &Source, error: ReadError) -> Failure {
    invalid_request(match error {
        ReadError::Row(bad) => format!("{source}:{}: {}: {}; {}", bad.line, bad.message, bad.text, bad.help),
        ReadError::File(error) => format!("{source}: the dataset cannot be read: {error}"),
    })
}
