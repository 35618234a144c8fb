//! The source of an experiment's items: a file of rows, read forward from a place in it. One row is
//! in memory at a time. A format is added in one place, [`Dataset::open`].

mod csv;
mod jsonl;
pub mod survey;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use windrow_model::step::ContentKey;

use crate::canonical::canonical;
use crate::template::Fields;

windrow_model::vocabulary! {
    /// How rows are written.
    pub enum Format {
        #[doc = "One JSON object per line."]
        Jsonl = "jsonl",
        #[doc = "Comma-separated values with a line of column names; every field is text."]
        Csv = "csv",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Absolute.
    pub path: PathBuf,
    pub format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
}

/// A place between two rows; what a planning cursor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// The line that begins there, from 1.
    pub line: u64,
}

impl Place {
    pub const START: Self = Self { offset: 0, line: 1 };
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub line: u64,
    pub fields: Fields,
    /// The row as JSON.
    pub text: Box<str>,
}

impl Row {
    /// Identity by content: the same row is the same item wherever it stands.
    pub fn key(fields: Fields) -> ContentKey {
        ContentKey::of(&[b"row", canonical(&serde_json::Value::Object(fields)).as_bytes()])
    }
}

/// A row that cannot be used. The rows after it still can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadRow {
    pub line: u64,
    pub message: String,
    pub help: String,
    /// The row's text, shortened, and where in it the problem is.
    pub text: String,
    pub column: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Row(#[from] BadRow),
    #[error("the dataset cannot be read: {0}")]
    File(#[from] std::io::Error),
}

pub trait Rows: Send {
    /// `None` at the end of the file.
    fn next_row(&mut self) -> Option<Result<Row, ReadError>>;
    /// Where the next row begins.
    fn place(&self) -> Place;
    fn at_end(&mut self) -> Result<bool, ReadError>;
}

impl Dataset {
    pub fn open(&self, place: Place) -> Result<Box<dyn Rows>, ReadError> {
        let file = std::fs::File::open(&self.path)?;
        match self.format {
            Format::Jsonl => Ok(Box::new(jsonl::JsonLines::new(file, place)?)),
            Format::Csv => Ok(Box::new(csv::CsvRows::new(file, self.delimiter, place)?)),
        }
    }
}

const EXCERPT_CHARS: usize = 200;

/// At most a few hundred characters around a column, and the column in them.
fn shorten(text: &str, column: usize) -> (String, usize) {
    let mut start = column.saturating_sub(EXCERPT_CHARS / 2).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let excerpt: String = text[start..].chars().take(EXCERPT_CHARS).collect();
    (excerpt, column.saturating_sub(start))
}
