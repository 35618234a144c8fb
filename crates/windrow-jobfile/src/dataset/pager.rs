//! Pages of a dataset, for planning. The reader stays open between two pages, because some formats
//! can be continued in the middle only by reading what is before it. A page asked for at any other
//! place opens the file again, so the same cursor always yields the same page.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use windrow_model::dataset::Digest;
use windrow_model::step::ContentKey;
use windrow_model::store::NewItem;
use windrow_model::workload::SourcePage;
use windrow_model::{ErrorClass, Failure, Json};

use super::{Library, Position, ReadError, Row, Rows, Source};
use crate::spec::invalid_request;

/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

/// Where a page ends, and what was read up to there.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Cursor {
    #[serde(flatten)]
    position: Position,
    /// `None` if an earlier version read the first pages.
    content: Option<Content>,
}

/// The rows that a run has read, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Content {
    pub rows: u64,
    sum: [u8; 16],
}

impl Content {
    /// Of a planning cursor; `None` if it says nothing about rows.
    pub fn of_cursor(cursor: &Json) -> Option<Self> {
        cursor.parse::<Cursor>().ok()?.content
    }

    /// The rows, as hexadecimal digits.
    pub fn digest(&self) -> String {
        Digest(self.sum).to_string()
    }

    fn add(&mut self, key: &ContentKey) {
        let mut digest = Digest(self.sum);
        digest.add(key);
        (self.rows, self.sum) = (self.rows + 1, digest.0);
    }
}

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
        let from = match cursor {
            None => Cursor { position: Position::START, content: Some(Content::default()) },
            Some(cursor) => {
                cursor.parse().map_err(|error| invalid_request(format!("the planning cursor is bad: {error}")))?
            }
        };
        let (source, library, open) = (self.source.clone(), self.library.clone(), self.open.clone());
        let (per_row, items_of) = (self.per_row, self.items_of.clone());
        let read = tokio::task::spawn_blocking(move || {
            let kept = open.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut rows = open_at(&source, library.as_ref(), kept, from.position)?;
            let page = read_page(&source, &mut *rows, from.content, limit, |row| items_of(row), per_row)?;
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
    mut content: Option<Content>,
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
        let text = ContentKey::of(&[row.text.as_bytes()]);
        let made = items_of(row);
        if let (Some(content), Some(item)) = (&mut content, made.first()) {
            // A row that names its id keeps its key when its content changes.
            content.add(&if item.by_id { text } else { item.group.unwrap_or(item.key) });
        }
        items.extend(made);
    }
    let done = rows.at_end().map_err(|error| unreadable(source, error))?;
    Ok(SourcePage { items, cursor: Some(Json::of(&Cursor { position: rows.position(), content })), done })
}

fn unreadable(source: &Source, error: ReadError) -> Failure {
    invalid_request(match error {
        ReadError::Row(bad) => format!("{source}:{}: {}: {}; {}", bad.line, bad.message, bad.text, bad.help),
        ReadError::File(error) => format!("{source}: the dataset cannot be read: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_which_rows_were_read_and_not_their_order() {
        let of = |keys: &[&str]| {
            let mut content = Content::default();
            keys.iter().for_each(|key| content.add(&ContentKey::of(&[key.as_bytes()])));
            let cursor = Json::of(&Cursor { position: Position { offset: 9, line: 3 }, content: Some(content) });
            Content::of_cursor(&cursor).unwrap()
        };
        assert_eq!((of(&["a", "b"]), of(&["a", "b"]).rows), (of(&["b", "a"]), 2));
        assert_ne!(of(&["a", "b"]).digest(), of(&["a", "c"]).digest());
        let earlier = Json::of(&Position { offset: 9, line: 3 });
        assert_eq!(Content::of_cursor(&earlier), None);
        assert!(earlier.parse::<Cursor>().is_ok(), "a run that an earlier version began continues");
    }
}
