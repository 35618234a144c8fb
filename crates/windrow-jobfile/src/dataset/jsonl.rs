//! One JSON object per line. Empty lines are passed over; lines count as an editor counts them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use super::{BOM, MAX_ROW, Position, ReadError, Row, Rows, object};

const BUFFER: usize = 256 * 1024;

pub struct JsonLines {
    file: BufReader<File>,
    position: Position,
    line: Vec<u8>,
}

impl JsonLines {
    pub fn new(mut file: File, position: Position) -> Result<Self, ReadError> {
        file.seek(SeekFrom::Start(position.offset))?;
        Ok(Self { file: BufReader::with_capacity(BUFFER, file), position, line: Vec::new() })
    }

    /// Reads the next line with text in it; its number, or `None` at the end.
    fn next_line(&mut self) -> std::io::Result<Option<u64>> {
        loop {
            self.line.clear();
            let read = (&mut self.file).take(MAX_ROW as u64).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            let number = self.position.line;
            if self.position.offset == 0 && self.line.starts_with(BOM) {
                self.line.drain(..BOM.len());
            }
            self.position = Position { offset: self.position.offset + read as u64, line: number + 1 };
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(number));
            }
        }
    }
}

impl Rows for JsonLines {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        match self.next_line() {
            Ok(Some(number)) => Some(object::parse(number, &self.line, remedy(&self.line)).map_err(ReadError::Row)),
            Ok(None) => None,
            Err(error) => Some(Err(error.into())),
        }
    }

    fn position(&self) -> Position {
        self.position
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.file.fill_buf()?.is_empty())
    }
}

fn remedy(line: &[u8]) -> &'static str {
    match line.trim_ascii_start().first() {
        Some(b'[') => "one object per line is expected; if the file is one JSON list, set `format: json`",
        _ => "write each row as one JSON object on one line, or set `format: csv` if it is CSV",
    }
}
