//! One JSON list of objects, or an object with one list in it (`{"data": […]}`). The list is read
//! element by element; the file is never in memory as a whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use super::{BOM, BadRow, MAX_ROW, Position, ReadError, Row, Rows, object};

const BUFFER: usize = 256 * 1024;
const REMEDY: &str = "write each row as a JSON object, with a comma between two rows";

pub struct JsonList {
    file: BufReader<File>,
    /// Of the next byte; between two calls, of the next row or of the `]` behind the last.
    position: Position,
    element: Vec<u8>,
    /// The list is a field of an object.
    in_object: bool,
    /// What is wrong between the last row and the next; nothing can be read after it.
    broken: Option<BadRow>,
    ended: bool,
}

impl JsonList {
    pub fn new(file: File, position: Position) -> Result<Self, ReadError> {
        let file = BufReader::with_capacity(BUFFER, file);
        let mut list =
            Self { file, position: Position::START, element: Vec::new(), in_object: false, broken: None, ended: false };
        list.skip_bom()?;
        list.skip_space()?;
        list.in_object = list.peek()? == Some(b'{');
        if position == Position::START {
            list.enter()?;
            list.skip_space()?;
        } else {
            list.file.seek(SeekFrom::Start(position.offset))?;
            list.position = position;
        }
        Ok(list)
    }

    /// To behind the `[` of the rows.
    fn enter(&mut self) -> Result<(), ReadError> {
        match self.peek()? {
            Some(b'[') => Ok(self.take(1)?),
            Some(b'{') => {
                self.take(1)?;
                match self.next_list()? {
                    true => Ok(()),
                    false => Err(self.no_list()?.into()),
                }
            }
            found => {
                let help = "a JSON dataset is a list of objects; set `format:` if the file is something else";
                Err(self.bad(&format!("expected a list of rows, found {}", say(found)), help)?.into())
            }
        }
    }

    /// To behind the `[` of the next field that is a list; false behind the `}` of the object.
    fn next_list(&mut self) -> Result<bool, ReadError> {
        let help = "correct the JSON here";
        loop {
            self.skip_space()?;
            match self.peek()? {
                Some(b',') => self.take(1)?,
                Some(b'}') => {
                    self.take(1)?;
                    return Ok(false);
                }
                Some(b'"') => {
                    self.value(false)?;
                    self.skip_space()?;
                    if self.peek()? != Some(b':') {
                        let found = self.peek()?;
                        return Err(self.bad(&format!("expected `:`, found {}", say(found)), help)?.into());
                    }
                    self.take(1)?;
                    self.skip_space()?;
                    if self.peek()? == Some(b'[') {
                        self.take(1)?;
                        return Ok(true);
                    }
                    self.value(false)?;
                }
                found => {
                    return Err(self.bad(&format!("expected the name of a field, found {}", say(found)), help)?.into());
                }
            }
        }
    }

    fn no_list(&mut self) -> Result<BadRow, ReadError> {
        self.skip_space()?;
        let help = match self.peek()? {
            Some(b'{') => "this looks like one object per line; set `format: jsonl`",
            _ => "put the rows into a list, like [{…}, {…}]",
        };
        self.bad("the file is one object without a list of rows in it", help)
    }

    /// Passes over one value; keeps its text if asked to.
    fn value(&mut self, keep: bool) -> Result<(), ReadError> {
        self.element.clear();
        let mut scan = Scan::default();
        loop {
            let buffer = self.file.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            let (used, done) = match scan.end_in(buffer) {
                Some(end) => (end, true),
                None => (buffer.len(), false),
            };
            if keep {
                self.element.extend_from_slice(&buffer[..used]);
            }
            self.take(used)?;
            if self.element.len() > MAX_ROW {
                let message = format!("a row of this dataset is longer than {} MB", MAX_ROW >> 20);
                return Err(io::Error::other(message).into());
            }
            if done {
                return Ok(());
            }
        }
    }

    /// From behind a row to the next one, or to the end of the list.
    fn pass_comma(&mut self) -> Result<(), ReadError> {
        self.skip_space()?;
        match self.peek()? {
            Some(b']') => {}
            Some(b',') => {
                self.take(1)?;
                self.skip_space()?;
                if self.peek()? == Some(b']') {
                    self.broken = Some(self.bad("there is a comma behind the last row", "remove the comma")?);
                }
            }
            None => self.broken = Some(self.bad("the file ends before the list does", "is it cut off? add `]`")?),
            found => {
                let message = format!("expected a comma or the end of the list, found {}", say(found));
                self.broken = Some(self.bad(&message, REMEDY)?);
            }
        }
        Ok(())
    }

    /// What follows the rows: the rest of the object, in which there must be no second list.
    fn leave(&mut self) -> Result<(), ReadError> {
        let end = self.position;
        self.take(1)?;
        if self.in_object && self.next_list()? {
            let help = "keep one list in the file, or put the rows into a file of their own";
            return Err(self.bad("the object has a second list; which one holds the rows is not clear", help)?.into());
        }
        self.skip_space()?;
        if let Some(byte) = self.peek()? {
            let message = format!("expected the end of the file, found {}", say(Some(byte)));
            return Err(self.bad(&message, "remove what follows the rows")?.into());
        }
        self.position = end;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Row>, ReadError> {
        if let Some(bad) = self.broken.take() {
            self.ended = true;
            return Err(bad.into());
        }
        if self.ended {
            return Ok(None);
        }
        match self.peek()? {
            Some(b']') => {
                self.ended = true;
                self.leave()?;
                Ok(None)
            }
            None => {
                self.ended = true;
                Err(self.bad("the file ends before the list does", "is it cut off? add `]`")?.into())
            }
            Some(_) => {
                let line = self.position.line;
                let begun = self.position.offset;
                self.value(true)?;
                let row = object::parse(line, &self.element, REMEDY);
                if self.position.offset == begun {
                    // A stray bracket or comma: no row can be found after it.
                    self.ended = true;
                } else {
                    self.pass_comma()?;
                }
                Ok(Some(row?))
            }
        }
    }

    fn skip_bom(&mut self) -> Result<(), ReadError> {
        if self.file.fill_buf()?.starts_with(BOM) {
            self.take(BOM.len())?;
        }
        Ok(())
    }

    fn skip_space(&mut self) -> Result<(), ReadError> {
        loop {
            let buffer = self.file.fill_buf()?;
            let space = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let more = space > 0 && space == buffer.len();
            self.take(space)?;
            if !more {
                return Ok(());
            }
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.file.fill_buf()?.first().copied())
    }

    /// Moves forward by this many bytes of the buffer.
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let lines = self.file.fill_buf()?[..bytes].iter().filter(|byte| **byte == b'\n').count();
        self.file.consume(bytes);
        self.position.offset += bytes as u64;
        self.position.line += lines as u64;
        Ok(())
    }

    fn bad(&mut self, message: &str, help: &str) -> Result<BadRow, ReadError> {
        let text = String::from_utf8_lossy(self.file.fill_buf()?.split(|byte| *byte == b'\n').next().unwrap_or(b""));
        Ok(BadRow::new(self.position.line, &text, message, help))
    }
}

impl Rows for JsonList {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        self.next().transpose()
    }

    fn position(&self) -> Position {
        self.position
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.broken.is_none() && (self.ended || self.peek()? == Some(b']')))
    }
}

fn say(byte: Option<u8>) -> String {
    match byte {
        None => "the end of the file".to_owned(),
        Some(byte) => format!("`{}`", char::from(byte).escape_default()),
    }
}

/// Finds the end of one JSON value by its quotes and brackets alone, so that a broken row ends too.
#[derive(Default)]
struct Scan {
    depth: u32,
    in_text: bool,
    escaped: bool,
}

impl Scan {
    /// Where in these bytes the value ends.
    fn end_in(&mut self, bytes: &[u8]) -> Option<usize> {
        for (no, byte) in bytes.iter().enumerate() {
            if self.in_text {
                match (self.escaped, byte) {
                    (true, _) => self.escaped = false,
                    (false, b'\\') => self.escaped = true,
                    (false, b'"') => self.in_text = false,
                    (false, _) => continue,
                }
                if !self.in_text && self.depth == 0 {
                    return Some(no + 1);
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 0 => return Some(no),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(no + 1);
                    }
                }
                b',' if self.depth == 0 => return Some(no),
                space if self.depth == 0 && space.is_ascii_whitespace() => return Some(no),
                _ => {}
            }
        }
        None
    }
}
