//! Pages of a dataset, for planning. The reader stays open between two pages, because some formats
//! can be continued in the middle only by reading what is before it. A page asked for at any other
//! place opens the file anew, so the same cursor always yields the same page.

use std::sync::{Arc, Mutex, PoisonError};

use windrow_model::store::NewItem;
use windrow_model::workload::SourcePage;
use windrow_model::{ErrorClass, Failure, Json};

use super::{DatasetFile, Place, ReadError, Row, Rows};

/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

pub struct Pager {
    file: Arc<DatasetFile>,
    /// A row becomes this many items, all on one page.
    per_row: usize,
    items_of: ItemsOf,
    open: Arc<Mutex<Option<Box<dyn Rows>>>>,
}

impl Pager {
    pub fn new(file: DatasetFile, per_row: usize, items_of: ItemsOf) -> Self {
        Self { file: Arc::new(file), per_row, items_of, open: Arc::default() }
    }

    pub async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let place = match cursor {
            None => Place::START,
            Some(cursor) => cursor.parse().map_err(|error| invalid(format!("the planning cursor is bad: {error}")))?,
        };
        let (file, open, per_row, items_of) = (self.file.clone(), self.open.clone(), self.per_row, self.items_of);
        let read = tokio::task::spawn_blocking(move || {
            let kept = open.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut rows = open_at(&file, kept, place)?;
            let page = read_page(&file, &mut *rows, limit, |row| items_of(row, per_row), per_row)?;
            let rows = (!page.done).then_some(rows);
            *open.lock().unwrap_or_else(PoisonError::into_inner) = rows;
            Ok(page)
        });
        read.await.map_err(|error| Failure::new(ErrorClass::Handler, format!("reading the dataset: {error}")))?
    }
}

/// What a row becomes.
pub type ItemsOf = fn(Row, usize) -> Vec<NewItem>;

/// Where the last page ended, or anywhere else.
fn open_at(file: &DatasetFile, kept: Option<Box<dyn Rows>>, place: Place) -> Result<Box<dyn Rows>, Failure> {
    match kept {
        Some(rows) if rows.place() == place && place != Place::START => Ok(rows),
        _ => file.open(place).map_err(|error| unreadable(file, error)),
    }
}

fn read_page(
    file: &DatasetFile,
    rows: &mut dyn Rows,
    limit: usize,
    items_of: impl Fn(Row) -> Vec<NewItem>,
    per_row: usize,
) -> Result<SourcePage, Failure> {
    let mut items = Vec::with_capacity(limit.min(1024));
    let mut bytes = 0;
    while (items.is_empty() || items.len() + per_row <= limit) && bytes < PAGE_BYTES {
        let Some(row) = rows.next_row() else { break };
        let row = row.map_err(|error| unreadable(file, error))?;
        bytes += row.text.len() * per_row;
        items.extend(items_of(row));
    }
    let done = rows.at_end().map_err(|error| unreadable(file, error))?;
    Ok(SourcePage { items, cursor: Some(Json::of(&rows.place())), done })
}

fn unreadable(file: &DatasetFile, error: ReadError) -> Failure {
    let path = file.path.display();
    invalid(match error {
        ReadError::Row(bad) => format!("{path}:{}: {}: {}; {}", bad.line, bad.message, bad.text, bad.help),
        ReadError::File(error) => format!("{path}: the dataset cannot be read: {error}"),
    })
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
