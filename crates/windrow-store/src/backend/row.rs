//! One row of an answer.

use rusqlite::types::ValueRef;

use crate::backend::cell::{self, Cell, FromCell};
use crate::backend::{Error, Result};

#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a postgres::Row),
    MySql(&'a mysql::Row),
}

impl<'a> Row<'a> {
    pub fn get<T: FromCell>(&self, column: usize) -> Result<T> {
        cell::read(self.cell(column)?, column)
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        match self {
            Row::Sqlite(row) => row.as_ref().column_count(),
            Row::Postgres(row) => row.len(),
            Row::MySql(row) => row.len(),
        }
    }

    pub fn cell(&self, column: usize) -> Result<Cell<'a>> {
        match self {
            Row::Sqlite(row) => of_sqlite(row.get_ref(column)?, column),
            Row::Postgres(row) => crate::backend::postgres::cell(row, column),
            Row::MySql(row) => crate::backend::mysql::cell(row, column),
        }
    }
}

fn of_sqlite(value: ValueRef<'_>, column: usize) -> Result<Cell<'_>> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(int) => Cell::Int(int),
        ValueRef::Real(real) => Cell::Real(real),
        ValueRef::Text(text) => {
            Cell::Text(std::str::from_utf8(text).map_err(|error| Error::Decode { column, why: error.to_string() })?)
        }
        ValueRef::Blob(blob) => Cell::Blob(blob),
    })
}
