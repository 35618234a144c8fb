//! Reads a row's cells from left to right into the model's types.

use std::str::FromStr;

use windrow_model::counters::Counters;
use windrow_model::priority::Priority;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::vocabulary::Word;
use windrow_model::{ErrorClass, Json, Time};

use crate::backend::{Cell, Error, FromCell, Result, Row};
use crate::sql::codes;

pub(crate) struct Cells<'r> {
    row: Row<'r>,
    next: usize,
}

impl<'r> Cells<'r> {
    pub fn of(row: &Row<'r>) -> Self {
        Self::from(row, 0)
    }

    /// Beginning at a later cell.
    pub fn from(row: &Row<'r>, next: usize) -> Self {
        Self { row: *row, next }
    }

    pub fn get<T: FromCell>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// Text that is borrowed, not copied.
    pub fn text(&mut self) -> Result<&'r str> {
        self.next += 1;
        match self.row.cell(self.next - 1)? {
            Cell::Text(text) => Ok(text),
            other => Err(self.decode_error(format!("{other:?} is not a text"))),
        }
    }

    /// What is stored as the text it is written as.
    pub fn text_as<T: FromStr<Err: std::fmt::Display>>(&mut self) -> Result<T> {
        self.text()?.parse().map_err(|error: T::Err| self.decode_error(error.to_string()))
    }

    /// A state stored as a code.
    pub fn coded<W: Word>(&mut self) -> Result<W> {
        let code = self.get()?;
        codes::word(code).ok_or_else(|| self.decode_error(format!("no word has code {code}")))
    }

    pub fn maybe_coded<W: Word>(&mut self) -> Result<Option<W>> {
        let Some(code) = self.get::<Option<i64>>()? else { return Ok(None) };
        codes::word(code).map(Some).ok_or_else(|| self.decode_error(format!("no word has code {code}")))
    }

    /// A state stored as its word.
    pub fn word<W: Word>(&mut self) -> Result<W> {
        let text: String = self.get()?;
        let found = W::ALL.iter().copied().find(|word| word.as_str() == text);
        found.ok_or_else(|| self.decode_error(format!("unknown word {text:?}")))
    }

    pub fn maybe_word<W: Word>(&mut self) -> Result<Option<W>> {
        let Some(text) = self.get::<Option<String>>()? else { return Ok(None) };
        let found = W::ALL.iter().copied().find(|word| word.as_str() == text);
        found.map(Some).ok_or_else(|| self.decode_error(format!("unknown word {text:?}")))
    }

    pub fn time(&mut self) -> Result<Time> {
        self.get().map(Time)
    }

    pub fn maybe_time(&mut self) -> Result<Option<Time>> {
        Ok(self.get::<Option<i64>>()?.map(Time))
    }

    pub fn json(&mut self) -> Result<Json> {
        self.get::<String>().map(Json::from_text)
    }

    pub fn maybe_json(&mut self) -> Result<Option<Json>> {
        Ok(self.get::<Option<String>>()?.map(Json::from_text))
    }

    /// A value stored as its JSON.
    pub fn parsed<T>(&mut self, parse: fn(&Json) -> serde_json::Result<T>) -> Result<T> {
        parse(&self.json()?).map_err(|error| self.decode_error(error.to_string()))
    }

    pub fn maybe_parsed<T>(&mut self, parse: fn(&Json) -> serde_json::Result<T>) -> Result<Option<T>> {
        let Some(json) = self.maybe_json()? else { return Ok(None) };
        parse(&json).map(Some).map_err(|error| self.decode_error(error.to_string()))
    }

    pub fn key(&mut self) -> Result<ContentKey> {
        self.get().map(ContentKey)
    }

    pub fn maybe_key(&mut self) -> Result<Option<ContentKey>> {
        Ok(self.get::<Option<[u8; 16]>>()?.map(ContentKey))
    }

    pub fn priority(&mut self) -> Result<Priority> {
        let value = self.get()?;
        Priority::new(value).ok_or_else(|| self.decode_error(format!("priority {value}")))
    }

    /// In the order of the columns of `runs`.
    pub fn counters(&mut self) -> Result<Counters> {
        Ok(Counters {
            total: self.get()?,
            queued: self.get()?,
            running: self.get()?,
            succeeded: self.get()?,
            failed: self.get()?,
            cancelled: self.get()?,
            skipped: self.get()?,
            retries: self.get()?,
        })
    }

    pub fn usage(&mut self) -> Result<Usage> {
        Ok(Usage { tokens_in: self.get()?, tokens_out: self.get()?, cost_nanos: self.get()? })
    }

    /// Class and message of an error, in two cells.
    pub fn error(&mut self) -> Result<Option<(ErrorClass, String)>> {
        let class = self.maybe_coded()?;
        let message: Option<String> = self.get()?;
        Ok(class.map(|class| (class, message.unwrap_or_default())))
    }

    /// Not what we wrote there.
    pub fn decode_error(&self, why: String) -> Error {
        Error::Decode { column: self.next - 1, why }
    }
}
