//! What the verbs ask of a database, whichever it is: statements prepared once, cells in, cells out. It is
//! rusqlite's way of speaking, so that a verb is a plain function over a connection and reads the same for
//! all of them. A verb blocks; the threads it runs on belong to its adapter.

mod cell;
mod error;
mod many;
mod params;
mod row;
mod statement;
mod translate;

pub(crate) use cell::{Cell, FromCell, ToCell, Value};
pub(crate) use error::{Error, OptionalExtension, Result};
pub(crate) use params::{Bound, Params, named_params, params, params_from_iter};
pub(crate) use row::Row;
pub(crate) use statement::Statement;
pub(crate) use translate::{Dialect, Place, Translated, cross_joins, translate};

use crate::{mysql, postgres};

pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Box<postgres::Link>),
    MySql(Box<mysql::Link>),
}

impl Connection {
    pub fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>> {
        match self {
            Connection::Sqlite(conn) => Ok(Statement::Sqlite(conn.prepare_cached(sql)?)),
            Connection::Postgres(link) => Ok(Statement::Postgres(link, link.prepare(sql)?)),
            Connection::MySql(link) => Ok(Statement::MySql(link, link.prepare(sql)?)),
        }
    }

    /// Inserts a row that the database numbers, and returns the number.
    pub fn insert(&self, sql: &str, params: impl Params) -> Result<i64> {
        match self {
            Connection::Sqlite(conn) => {
                self.prepare_cached(sql)?.execute(params)?;
                Ok(conn.last_insert_rowid())
            }
            Connection::Postgres(_) => self.query_row(&format!("{sql} RETURNING id"), params, |row| row.get(0)),
            Connection::MySql(link) => {
                self.prepare_cached(sql)?.execute(params)?;
                Ok(link.last_insert_id())
            }
        }
    }

    /// Holds these rows until the transaction ends. A file has one writer, who holds everything.
    pub fn lock(&self, table: &str, ids: impl IntoIterator<Item = i64>) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        // In one order, so that two who want the same rows do not wait for each other.
        let mut ids: Vec<i64> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        match (self, ids.as_slice()) {
            (_, []) => Ok(()),
            (_, [id]) => {
                let sql = format!("SELECT id FROM {table} WHERE id = ?1 FOR UPDATE");
                self.prepare_cached(&sql)?.query_map([*id], |_| Ok(())).map(drop)
            }
            (Connection::MySql(_), many) => many.chunks(1024).try_for_each(|some| self.lock_listed(table, some)),
            (_, many) => {
                let many: Vec<Option<i64>> = many.iter().copied().map(Some).collect();
                let sql = format!("SELECT id FROM {table} WHERE id = ANY(?1) ORDER BY id FOR UPDATE");
                self.prepare_cached(&sql)?.query_map([Cell::Ints(&many)], |_| Ok(())).map(drop)
            }
        }
    }

    /// Where there are no arrays. The list is filled up to a power of two, so that few statements are prepared; rows are
    /// reached by their key alone, because one that is read on the way is locked as well.
    fn lock_listed(&self, table: &str, ids: &[i64]) -> Result<()> {
        let places = vec!["?"; ids.len().next_power_of_two()];
        let listed: Vec<i64> = ids.iter().copied().chain(std::iter::repeat(ids[0])).take(places.len()).collect();
        let sql = format!(
            "SELECT id FROM {table} FORCE INDEX (PRIMARY) WHERE id IN ({}) ORDER BY id FOR UPDATE",
            places.join(", ")
        );
        self.prepare_cached(&sql)?.query_map(params_from_iter(&listed), |_| Ok(())).map(drop)
    }

    /// Whether others write at the same time.
    pub fn is_shared(&self) -> bool {
        !matches!(self, Connection::Sqlite(_))
    }

    /// Begins a transaction, ends it, undoes it.
    pub fn perform(&self, sql: &str) -> Result<()> {
        match self {
            Connection::Sqlite(conn) => Ok(conn.execute_batch(sql)?),
            Connection::Postgres(link) => link.batch(sql),
            Connection::MySql(link) => link.batch(sql),
        }
    }

    pub fn is_closed(&self) -> bool {
        match self {
            // The driver of MySQL learns it from the next statement.
            Connection::Sqlite(_) | Connection::MySql(_) => false,
            Connection::Postgres(link) => link.is_closed(),
        }
    }

    pub fn query_row<T>(&self, sql: &str, params: impl Params, read: impl FnOnce(&Row) -> Result<T>) -> Result<T> {
        self.prepare_cached(sql)?.query_row(params, read)
    }
}
