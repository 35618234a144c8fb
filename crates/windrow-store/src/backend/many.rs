//! One statement for many rows. In a file that is a loop; over a network every statement is a journey, so that a
//! server is sent the rows as a set and runs the statement once.

use std::ops::ControlFlow;

use crate::backend::Cell;
use crate::backend::Connection;
use crate::backend::Result;
use crate::backend::Row;

impl Connection {
    /// Runs a statement for every row; returns how many rows of the table were changed by all of them together.
    pub fn execute_many<const N: usize>(&self, sql: &str, rows: &[[Cell<'_>; N]]) -> Result<usize> {
        if rows.is_empty() {
            return Ok(0);
        }
        match self {
            Connection::Sqlite(_) => {
                let mut stmt = self.prepare_cached(sql)?;
                rows.iter().try_fold(0, |changed, row| Ok(changed + stmt.execute(*row)?))
            }
            Connection::Postgres(link) => link.execute_many(sql, rows),
            Connection::MySql(link) => link.execute_many(sql, rows),
        }
    }

    /// Asks a question for every row; `each` is told of which row an answer is. The answers of one row come in
    /// their order, the rows in any.
    pub fn query_many<const N: usize>(
        &self,
        sql: &str,
        rows: &[[Cell<'_>; N]],
        mut each: impl FnMut(usize, &Row) -> Result<()>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        match self {
            Connection::Sqlite(_) => {
                let mut stmt = self.prepare_cached(sql)?;
                for (n, row) in rows.iter().enumerate() {
                    stmt.walk(*row, |found| each(n, found).map(|()| ControlFlow::Continue(())))?;
                }
                Ok(())
            }
            Connection::Postgres(link) => link.query_many(sql, rows, each),
            Connection::MySql(link) => link.query_many(sql, rows, each),
        }
    }
}
