//! One statement for many rows: a loop in a file, one round trip to a server.

use std::ops::ControlFlow;

use super::{Cell, Connection, ForRows, Lookup, Result, Row};

impl Connection {
    /// Runs a statement for every row; returns how many rows of the table were changed by all of them together.
    pub fn execute_many<const N: usize>(&self, statement: &impl ForRows, rows: &[[Cell<'_>; N]]) -> Result<usize> {
        if rows.is_empty() {
            return Ok(0);
        }
        match self {
            Connection::Sqlite(_) => {
                let mut stmt = self.prepare_cached(statement)?;
                rows.iter().try_fold(0, |changed, row| Ok(changed + stmt.execute(*row)?))
            }
            Connection::Postgres(link) => link.execute_many(statement, rows),
            Connection::MySql(link) => link.execute_many(statement, rows),
        }
    }

    /// Looks something up for every row; `each` gets the number of the row and an answer. The answers of one row come
    /// in their order, the rows in any.
    pub fn query_many<const N: usize>(
        &self,
        lookup: &Lookup,
        rows: &[[Cell<'_>; N]],
        mut each: impl FnMut(usize, &Row) -> Result<()>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        match self {
            Connection::Sqlite(_) => {
                let mut stmt = self.prepare_cached(lookup)?;
                for (n, row) in rows.iter().enumerate() {
                    stmt.walk(*row, |found| each(n, found).map(|()| ControlFlow::Continue(())))?;
                }
                Ok(())
            }
            Connection::Postgres(link) => link.query_many(lookup, rows, each),
            Connection::MySql(link) => link.query_many(lookup, rows, each),
        }
    }
}
