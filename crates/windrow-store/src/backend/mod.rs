//! What the verbs ask of a database, whichever it is: statements prepared once, cells in, cells out. It is
//! rusqlite's way of speaking, so that a verb is a plain function over a connection and reads the same for
//! all of them. A verb blocks; the threads it runs on belong to its adapter.

mod address;
mod cell;
mod commit_meter;
mod dialect;
mod error;
pub(crate) mod failure;
mod hold;
mod many;
pub(crate) mod mysql;
mod params;
mod pool;
pub(crate) mod postgres;
mod row;
mod schema_version;
pub(crate) mod sqlite;
mod statement;
mod text;
mod translate;

pub(crate) use address::Address;
pub(crate) use cell::{Cell, FromCell, ToCell, Value};
pub(crate) use commit_meter::CommitMeter;
pub(crate) use dialect::Dialect;
pub(crate) use error::{Error, OptionalExtension, Result};
#[cfg(test)]
pub(crate) use hold::hold_many;
pub(crate) use params::{Bound, Params, named_params, params, params_from_iter};
pub(crate) use pool::{Connect, ConnectionPool};
pub(crate) use row::Row;
pub(crate) use statement::Statement;
pub(crate) use text::{Change, ForRows, Lookup, NewRows, Source, Sql, Text};
pub(crate) use translate::{BindParam, Translated, fill, translate};

/// A transaction of a writer that does nothing for so long is ended by the server, which frees what it locked: its node is
/// stopped or cut off. Nobody waits for it for longer.
pub(crate) const IDLE_S: u32 = 2;
/// A lock that is waited for in vain for so long is held by another program.
pub(crate) const LOCK_WAIT_S: u32 = 4;
/// A statement of a writer that takes longer is ended. All of these are below the lease of a run.
pub(crate) const STATEMENT_S: u32 = 10;
/// A transaction that only reads locks no rows, but it keeps the database from vacuuming.
pub(crate) const READER_IDLE_S: u32 = 60;

pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Box<postgres::Link>),
    MySql(Box<mysql::Link>),
}

impl Connection {
    pub fn dialect(&self) -> Dialect {
        match self {
            Connection::Sqlite(_) => Dialect::Sqlite,
            Connection::Postgres(_) => Dialect::Postgres,
            Connection::MySql(_) => Dialect::MySql,
        }
    }

    pub fn prepare_cached(&self, sql: &(impl Text + ?Sized)) -> Result<Statement<'_>> {
        let (replaces, sql) = (sql.replaces(), sql.on(self.dialect()));
        match self {
            Connection::Sqlite(conn) => Ok(Statement::Sqlite(conn.prepare_cached(&sql)?)),
            Connection::Postgres(link) => Ok(Statement::Postgres(link, link.prepare(&sql)?)),
            Connection::MySql(link) => Ok(Statement::MySql(link, link.prepare(&sql, replaces)?)),
        }
    }

    /// Inserts a row that the database numbers, and returns the number.
    pub fn insert(&self, sql: &(impl Text + ?Sized), params: impl Params) -> Result<i64> {
        match self {
            Connection::Sqlite(conn) => {
                self.prepare_cached(sql)?.execute(params)?;
                Ok(conn.last_insert_rowid())
            }
            Connection::Postgres(_) => {
                self.query_row(&format!("{} RETURNING id", sql.on(Dialect::Postgres)), params, |row| row.get(0))
            }
            Connection::MySql(link) => {
                self.prepare_cached(sql)?.execute(params)?;
                Ok(link.last_insert_id())
            }
        }
    }

    /// Whether others write at the same time.
    pub fn is_shared(&self) -> bool {
        !matches!(self, Connection::Sqlite(_))
    }

    /// Whether a look can pass over rows that others hold, and over no others: MariaDB (10.11) also leaves out some that
    /// nobody holds.
    pub fn skips_locked(&self) -> bool {
        matches!(self, Connection::Postgres(_))
    }

    /// Begins a transaction by this statement.
    pub fn begin(&self, begin: &str) -> Result<()> {
        match self {
            Connection::Sqlite(_) | Connection::Postgres(_) => self.perform(begin),
            Connection::MySql(link) => link.begin(begin),
        }
    }

    pub fn commit(&self) -> Result<()> {
        self.end("COMMIT")
    }

    pub fn roll_back(&self) -> Result<()> {
        self.end("ROLLBACK")
    }

    /// If the server has ended the transaction before, nothing is committed, and the error is a conflict.
    fn end(&self, how: &str) -> Result<()> {
        match self {
            Connection::Sqlite(_) => self.perform(how),
            Connection::Postgres(link) => link.end(how),
            Connection::MySql(link) => link.end(how),
        }
    }

    /// Statements without values.
    pub fn perform(&self, sql: &str) -> Result<()> {
        match self {
            Connection::Sqlite(conn) => Ok(conn.execute_batch(sql)?),
            Connection::Postgres(link) => link.batch(sql),
            Connection::MySql(link) => link.batch(sql),
        }
    }

    /// Statements sent over the network since this was last asked.
    pub fn take_sent(&self) -> u64 {
        match self {
            Connection::Sqlite(_) => 0,
            Connection::Postgres(link) => link.take_sent(),
            Connection::MySql(link) => link.take_sent(),
        }
    }

    pub fn is_closed(&self) -> bool {
        match self {
            Connection::Sqlite(_) => false,
            Connection::Postgres(link) => link.is_closed(),
            Connection::MySql(link) => link.is_closed(),
        }
    }

    pub fn query_row<T>(
        &self,
        sql: &(impl Text + ?Sized),
        params: impl Params,
        read: impl FnOnce(&Row) -> Result<T>,
    ) -> Result<T> {
        self.prepare_cached(sql)?.query_row(params, read)
    }
}
