//! CSV with a line of column names. Every field is text. The place of a row is the csv crate's own,
//! so fields with line breaks in them do not disturb it.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use super::{BadRow, Position, ReadError, Row, Rows};
use crate::template::Fields;

pub struct CsvRows {
    reader: csv::Reader<File>,
    columns: Vec<String>,
    record: csv::StringRecord,
    /// Read ahead to find out whether the file ends here.
    ahead: Option<Result<bool, csv::Error>>,
    position: Position,
}

impl CsvRows {
    pub fn new(mut file: File, delimiter: Option<char>, position: Position) -> Result<Self, ReadError> {
        file.seek(SeekFrom::Start(0))?;
        let delimiter = delimiter.and_then(|given| u8::try_from(given).ok()).unwrap_or(b',');
        // Flexible, so that a ragged row is one bad row and the next can still be read.
        let mut reader = csv::ReaderBuilder::new().flexible(true).delimiter(delimiter).from_reader(file);
        let headers = reader.headers().map_err(|error| bad_header(&error))?;
        let columns: Vec<String> = headers.iter().map(str::to_owned).collect();
        check_columns(&columns)?;
        if position != Position::START {
            let mut start = csv::Position::new();
            start.set_byte(position.offset).set_line(position.line);
            reader.seek(start).map_err(std::io::Error::other)?;
        }
        let mut rows = Self { reader, columns, record: csv::StringRecord::new(), ahead: None, position };
        rows.position = rows.reader_position();
        Ok(rows)
    }

    fn reader_position(&self) -> Position {
        let position = self.reader.position();
        Position { offset: position.byte(), line: position.line() }
    }

    fn row(&self) -> Result<Row, BadRow> {
        let line = self.record.position().map_or(self.position.line, csv::Position::line);
        if self.record.len() != self.columns.len() {
            let (columns, fields) = (self.columns.len(), self.record.len());
            let text = self.record.iter().collect::<Vec<_>>().join(",");
            let message = format!("this row has {fields} fields, but there are {columns} columns");
            let help = "add or remove a comma, or put a field with commas in quotes";
            return Err(BadRow::new(line, &text, message, help));
        }
        let named = self.columns.iter().cloned().zip(self.record.iter().map(serde_json::Value::from));
        Ok(Row::of(line, named.collect::<Fields>()))
    }
}

impl Rows for CsvRows {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        let read = self.ahead.take().unwrap_or_else(|| self.reader.read_record(&mut self.record));
        let row = match read {
            Ok(false) => None,
            Ok(true) => Some(self.row().map_err(ReadError::Row)),
            Err(error) => Some(Err(bad_record(error, self.position))),
        };
        self.position = self.reader_position();
        row
    }

    fn position(&self) -> Position {
        self.position
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        let ahead = self.ahead.get_or_insert_with(|| self.reader.read_record(&mut self.record));
        Ok(matches!(ahead, Ok(false)))
    }
}

fn check_columns(columns: &[String]) -> Result<(), BadRow> {
    let wrong = |message: String, help: &str| Err(BadRow::new(1, &columns.join(","), message, help));
    for (no, column) in columns.iter().enumerate() {
        if column.trim().is_empty() {
            return wrong(format!("column {} has no name", no + 1), "give every column a name in the first line");
        }
        if columns[..no].contains(column) {
            return wrong(format!("the column `{column}` is there twice"), "give every column its own name");
        }
    }
    Ok(())
}

fn bad_header(error: &csv::Error) -> BadRow {
    let message = format!("the line of column names cannot be read: {error}");
    BadRow::new(1, "", message, "save the dataset as UTF-8 CSV")
}

fn bad_record(error: csv::Error, position: Position) -> ReadError {
    let line = error.position().map_or(position.line, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => ReadError::File(error),
        csv::ErrorKind::Utf8 { err, .. } => {
            let message = format!("this row is not UTF-8 text: {err}");
            ReadError::Row(BadRow::new(line, "", message, "save the dataset as UTF-8"))
        }
        other => ReadError::File(std::io::Error::other(format!("line {line}: {other:?}"))),
    }
}
