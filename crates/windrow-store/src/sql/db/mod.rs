//! What the verbs ask of a database, whichever it is: statements prepared once, cells in, cells out. It is
//! rusqlite's way of speaking, so that a verb is a plain function over a connection and reads the same for
//! all three. A verb blocks; the threads it runs on belong to its adapter.

mod cell;
mod error;
mod params;
mod row;
mod statement;

pub(crate) use cell::{Cell, FromCell, ToCell, Value};
pub(crate) use error::{Error, OptionalExtension, Result};
pub(crate) use params::{Bound, Params, named_params, params, params_from_iter};
pub(crate) use row::Row;
pub(crate) use statement::Statement;

pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
}

impl Connection {
    pub fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>> {
        match self {
            Connection::Sqlite(conn) => Ok(Statement::Sqlite(conn.prepare_cached(sql)?)),
        }
    }

    /// Inserts a row that the database numbers, and returns the number.
    pub fn insert(&self, sql: &str, params: impl Params) -> Result<i64> {
        match self {
            Connection::Sqlite(conn) => {
                self.prepare_cached(sql)?.execute(params)?;
                Ok(conn.last_insert_rowid())
            }
        }
    }

    pub fn query_row<T>(&self, sql: &str, params: impl Params, read: impl FnOnce(&Row) -> Result<T>) -> Result<T> {
        self.prepare_cached(sql)?.query_row(params, read)
    }
}
