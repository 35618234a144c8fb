//! One JSON object per line. Empty lines are passed over; lines count as an editor counts them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use super::{BadRow, Place, ReadError, Row, Rows, shorten};
use crate::template::Fields;

const BUFFER: usize = 256 * 1024;
/// Bounds the memory one row can take.
const MAX_ROW: u64 = 64 * 1024 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

pub struct JsonLines {
    file: BufReader<File>,
    place: Place,
    line: Vec<u8>,
}

impl JsonLines {
    pub fn new(mut file: File, place: Place) -> Result<Self, ReadError> {
        file.seek(SeekFrom::Start(place.offset))?;
        Ok(Self { file: BufReader::with_capacity(BUFFER, file), place, line: Vec::new() })
    }

    /// Reads the next line with text in it; its number, or `None` at the end.
    fn next_line(&mut self) -> std::io::Result<Option<u64>> {
        loop {
            self.line.clear();
            let read = (&mut self.file).take(MAX_ROW).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            let number = self.place.line;
            if self.place.offset == 0 && self.line.starts_with(BOM) {
                self.line.drain(..BOM.len());
            }
            self.place = Place { offset: self.place.offset + read as u64, line: number + 1 };
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(number));
            }
        }
    }
}

impl Rows for JsonLines {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        match self.next_line() {
            Ok(Some(number)) => Some(parse(number, &self.line).map_err(ReadError::Row)),
            Ok(None) => None,
            Err(error) => Some(Err(error.into())),
        }
    }

    fn place(&self) -> Place {
        self.place
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.file.fill_buf()?.is_empty())
    }
}

fn parse(line: u64, bytes: &[u8]) -> Result<Row, BadRow> {
    let bad = |text: &str, column: usize, message: String, help: &str| {
        let (text, column) = shorten(text, column);
        BadRow { line, message, help: help.to_owned(), text, column }
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.trim(),
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            let message = format!("this row is not UTF-8 text (byte {} of the line)", error.valid_up_to() + 1);
            return Err(bad(text.trim(), error.valid_up_to(), message, "save the dataset as UTF-8"));
        }
    };
    if let Ok(fields) = serde_json::from_str::<Fields>(text) {
        return Ok(Row { line, fields, text: text.into() });
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Err(bad(
            text,
            0,
            "this row is JSON, but not an object with fields".to_owned(),
            "write each row as an object, like {\"country\": \"France\"}",
        )),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or(&reason);
            let help = match text.starts_with('[') {
                true => "one object per line is expected; a JSON list becomes that with `jq -c '.[]'`",
                false => "write each row as one JSON object on one line, or set `format: csv` if it is CSV",
            };
            Err(bad(text, error.column().saturating_sub(1), format!("this row is not JSON: {reason}"), help))
        }
    }
}
