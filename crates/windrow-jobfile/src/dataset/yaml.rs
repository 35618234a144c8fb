//! A YAML list of maps, a map with one such list in it, or one map per document. YAML cannot be read
//! from the middle, so a file is read whole, up to a size that does no harm.

use std::fs::File;
use std::io::{self, Read};

use serde_json::Value;

use super::{BadRow, Position, ReadError, Row, Rows};
use crate::template::Fields;
use crate::yaml::{Content, Node};

const MAX_BYTES: u64 = 16 * 1024 * 1024;
const REMEDY: &str = "write each row as a map of fields, like `- country: France`";

pub struct YamlRows {
    rows: std::vec::IntoIter<Result<(u64, Fields), BadRow>>,
    /// Rows before the next one.
    passed: u64,
}

impl YamlRows {
    pub fn new(file: File, position: Position) -> Result<Self, ReadError> {
        let bytes = file.metadata()?.len();
        if bytes > MAX_BYTES {
            return Err(io::Error::other(format!(
                "it has {} MB, and a YAML dataset may have {}; convert it to JSONL, which may be of any size",
                bytes >> 20,
                MAX_BYTES >> 20
            ))
            .into());
        }
        let mut text = String::with_capacity(bytes as usize);
        file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        let mut rows = read(&text)?.into_iter();
        for _ in 0..position.offset {
            rows.next();
        }
        Ok(Self { rows, passed: position.offset })
    }
}

impl Rows for YamlRows {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        let row = self.rows.next()?;
        self.passed += 1;
        Some(row.map(|(line, fields)| Row::of(line, fields)).map_err(ReadError::Row))
    }

    fn position(&self) -> Position {
        let line = match self.rows.as_slice().first() {
            Some(Ok((line, _))) => *line,
            Some(Err(bad)) => bad.line,
            None => 0,
        };
        Position { offset: self.passed, line }
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.rows.as_slice().is_empty())
    }
}

type Found = Vec<Result<(u64, Fields), BadRow>>;

fn read(text: &str) -> Result<Found, BadRow> {
    let mut lines = Lines { text, offset: 0, line: 1 };
    let documents = Node::parse_all(text).map_err(|broken| {
        let (line, shown) = lines.at(broken.span.start);
        let help = "correct the YAML here; often it is the indentation, a quote or a bracket just before";
        BadRow::new(line, shown, format!("this is not valid YAML: {}", broken.message), help)
    })?;
    let alone = documents.len() == 1;
    let mut found = Found::new();
    for document in documents {
        let span = document.span.clone();
        match document.content {
            Content::List(nodes) => found.extend(nodes.into_iter().map(|node| row(node, &mut lines))),
            Content::Map(entries) if alone => {
                let lists = entries.into_iter().map(|(_, node)| node.content);
                let mut lists = lists.filter(|content| matches!(content, Content::List(_)));
                let (Some(Content::List(nodes)), None) = (lists.next(), lists.next()) else {
                    let (line, shown) = lines.at(span.start);
                    let message = "expected a list of rows, found one map";
                    return Err(BadRow::new(line, shown, message, "start each row with `- `"));
                };
                found.extend(nodes.into_iter().map(|node| row(node, &mut lines)));
            }
            content => found.push(row(Node { span, content }, &mut lines)),
        }
    }
    Ok(found)
}

fn row(node: Node, lines: &mut Lines<'_>) -> Result<(u64, Fields), BadRow> {
    let (line, shown) = lines.at(node.span.start);
    let what = node.describe();
    match node.into_value() {
        Value::Object(fields) => Ok((line, fields)),
        _ => Err(BadRow::new(line, shown, format!("this row is {what}, not a map of fields"), REMEDY)),
    }
}

/// Line numbers of ascending offsets, counted once.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    /// The number of the line and its text. An alias lies before what was asked last.
    fn at(&mut self, offset: usize) -> (u64, &'a str) {
        let offset = offset.min(self.text.len());
        if offset < self.offset {
            (self.offset, self.line) = (0, 1);
        }
        let between = &self.text.as_bytes()[self.offset..offset];
        self.line += between.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.offset = offset;
        let start = self.text.as_bytes()[..offset].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = self.text.as_bytes()[start..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(self.text.len(), |at| start + at);
        (self.line, &self.text[start..end])
    }
}
