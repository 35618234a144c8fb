//! Pages of a dataset, for planning. The reader stays open between two pages, because some formats
//! can be continued in the middle only by reading what is before it. A page asked for at any other
//! place opens the file anew, so the same cursor always yields the same page.

use std::sync::{Arc, Mutex, PoisonError};

use windrow_model::priority::Priority;
use windrow_model::store::NewItem;
use windrow_model::workload::SourcePage;
use windrow_model::{ErrorClass, Failure, Json};

use super::{DatasetFile, Place, ReadError, Row, Rows};

/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

pub struct Pager {
    file: Arc<DatasetFile>,
    open: Arc<Mutex<Option<Box<dyn Rows>>>>,
}

impl Pager {
    pub fn new(file: DatasetFile) -> Self {
        Self { file: Arc::new(file), open: Arc::default() }
    }

    pub async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let place = match cursor {
            None => Place::START,
            Some(cursor) => cursor.parse().map_err(|error| invalid(format!("the planning cursor is bad: {error}")))?,
        };
        let (file, open) = (self.file.clone(), self.open.clone());
        let read = tokio::task::spawn_blocking(move || {
            let kept = open.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (page, rows) = read_page(&file, kept, place, limit)?;
            *open.lock().unwrap_or_else(PoisonError::into_inner) = rows;
            Ok(page)
        });
        read.await.map_err(|error| Failure::new(ErrorClass::Handler, format!("reading the dataset: {error}")))?
    }
}

type Page = (SourcePage, Option<Box<dyn Rows>>);

fn read_page(file: &DatasetFile, kept: Option<Box<dyn Rows>>, place: Place, limit: usize) -> Result<Page, Failure> {
    let failed = |error: ReadError| {
        let path = file.path.display();
        invalid(match error {
            ReadError::Row(bad) => format!("{path}:{}: {}: {}; {}", bad.line, bad.message, bad.text, bad.help),
            ReadError::File(error) => format!("{path}: the dataset cannot be read: {error}"),
        })
    };
    let mut rows = match kept {
        Some(rows) if rows.place() == place && place != Place::START => rows,
        _ => file.open(place).map_err(failed)?,
    };
    let mut items = Vec::with_capacity(limit.min(1024));
    let mut bytes = 0;
    while items.len() < limit && bytes < PAGE_BYTES {
        let Some(row) = rows.next_row() else { break };
        let row = row.map_err(failed)?;
        bytes += row.text.len();
        items.push(item(row));
    }
    let done = rows.at_end().map_err(failed)?;
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

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
