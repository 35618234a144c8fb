//! Rows: read from files of several formats, recognised by their shape, kept under a name. A file is
//! read forward from a place in it, one row in memory at a time. A format is added in one position,
//! [`DatasetFile::open`].

pub mod check;
mod csv;
pub mod diff;
pub mod export;
pub mod import;
mod json;
mod jsonl;
mod library;
mod object;
mod pager;
mod parquet;
mod profile;
mod shape;
mod source;
pub mod staged;
pub mod write;
mod yaml;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windrow_model::step::ContentKey;

use crate::canonical::canonical;
use crate::diagnostics::{Excerpt, Problem};
use crate::template::Fields;

pub use check::RowSchema;
pub use library::{Library, StoredVersion, find_list};
pub use pager::{Content, Pager};
pub use profile::{Kind, Profile};
pub use shape::{Reading, Shape};
pub use source::{Dataset, Source};
pub use staged::{RowList, StagedRows, Staging};

windrow_model::vocabulary! {
    /// How rows are written.
    pub enum Format {
        #[doc = "One JSON object per line."]
        Jsonl = "jsonl",
        #[doc = "Comma-separated values with a line of column names; every field is text."]
        Csv = "csv",
        #[doc = "One JSON list of objects, or an object with one such list in it."]
        Json = "json",
        #[doc = "A YAML list of maps, or one map per document."]
        Yaml = "yaml",
        #[doc = "Apache Parquet."]
        Parquet = "parquet",
    }
}

impl Format {
    /// What the name of a file says, in lower case.
    pub fn by_extension(extension: &str) -> Option<Self> {
        match extension {
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "csv" | "tsv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            "yaml" | "yml" => Some(Format::Yaml),
            "parquet" | "pq" => Some(Format::Parquet),
            _ => None,
        }
    }

    /// All of them, for a person.
    pub fn list() -> String {
        Self::ALL.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// A file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetFile {
    /// Absolute where it is frozen into a definition.
    pub path: PathBuf,
    pub format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
}

/// A place between two rows; what a planning cursor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Bytes from the start of a text; rows where there are no such bytes.
    pub offset: u64,
    /// The line that begins there, from 1; the number of the row in Parquet.
    pub line: u64,
}

impl Position {
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
    fn of(line: u64, fields: Fields) -> Self {
        let text = serde_json::to_string(&fields).expect("fields serialise to JSON").into();
        Self { line, fields, text }
    }

    /// Identity by content: the same row is the same item at any place.
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

impl BadRow {
    pub fn new(line: u64, text: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::at(line, text, 0, message, help)
    }

    pub fn at(line: u64, text: &str, column: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (text, column) = shorten(text, column);
        Self { line, message: message.into(), help: help.into(), text, column }
    }

    /// At its place in the file, which is named as a person would.
    pub fn problem(&self, shown: &str) -> Problem {
        let excerpt = Excerpt { name: shown.to_owned(), text: self.text.clone(), first_line: self.line as usize };
        let end = if self.column == 0 { excerpt.text.len() } else { self.column + 1 };
        Problem::new(self.message.clone(), self.help.clone()).at(&Arc::new(excerpt), self.column..end)
    }
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
    fn position(&self) -> Position;
    fn at_end(&mut self) -> Result<bool, ReadError>;
}

impl DatasetFile {
    /// The format and the delimiter are as given, or as the file's name says. `None`: it does not say.
    pub fn named(path: PathBuf, format: Option<Format>, delimiter: Option<char>) -> Option<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_lowercase();
        let format = format.or_else(|| Format::by_extension(&extension))?;
        let delimiter = delimiter.or((extension == "tsv").then_some('\t'));
        Some(Self { path, format, delimiter })
    }

    pub fn open(&self, position: Position) -> Result<Box<dyn Rows>, ReadError> {
        let file = std::fs::File::open(&self.path)?;
        match self.format {
            Format::Jsonl => Ok(Box::new(jsonl::JsonLines::new(file, position)?)),
            Format::Csv => Ok(Box::new(csv::CsvRows::new(file, self.delimiter, position)?)),
            Format::Json => Ok(Box::new(json::JsonList::new(file, position)?)),
            Format::Yaml => Ok(Box::new(yaml::YamlRows::new(file, position)?)),
            Format::Parquet => Ok(Box::new(parquet::ParquetRows::new(file, position)?)),
        }
    }
}

/// Bounds the memory one row can take.
const MAX_ROW: usize = 64 * 1024 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";
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
