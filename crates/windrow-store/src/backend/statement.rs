//! A prepared statement, run as often as one likes.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::backend::{Bound, Error, Params, Result, Row, mysql, postgres};

pub(crate) enum Statement<'c> {
    Sqlite(rusqlite::CachedStatement<'c>),
    Postgres(&'c postgres::Link, Arc<postgres::Prepared>),
    MySql(&'c mysql::Link, Arc<mysql::Prepared>),
}

impl Statement<'_> {
    /// Returns how many rows were changed.
    pub fn execute(&mut self, params: impl Params) -> Result<usize> {
        match self {
            Statement::Sqlite(stmt) => params.with(|bound| {
                bind(stmt, bound)?;
                Ok(stmt.raw_execute()?)
            }),
            Statement::Postgres(link, prepared) => params.with(|bound| link.execute(prepared, bound)),
            Statement::MySql(link, prepared) => params.with(|bound| link.execute(prepared, bound)),
        }
    }

    /// The first row; an error if none is found.
    pub fn query_row<T>(&mut self, params: impl Params, read: impl FnOnce(&Row) -> Result<T>) -> Result<T> {
        let (mut read, mut found) = (Some(read), None);
        self.walk(params, |row| {
            found = read.take().map(|read| read(row));
            Ok::<_, Error>(ControlFlow::Break(()))
        })?;
        found.unwrap_or(Err(Error::NoRows))
    }

    /// Every row, read before this returns, so that other statements may run meanwhile.
    pub fn query_map<T>(
        &mut self,
        params: impl Params,
        mut read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<std::vec::IntoIter<Result<T>>> {
        let mut found = Vec::new();
        self.walk(params, |row| {
            found.push(read(row));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(found.into_iter())
    }

    /// Row by row, for answers that should not be held as a whole. Nothing else may run on the connection
    /// until it returns.
    pub fn walk<E: From<Error>>(
        &mut self,
        params: impl Params,
        mut each: impl FnMut(&Row) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        match self {
            Statement::Sqlite(stmt) => params.with(|bound| {
                bind(stmt, bound)?;
                let mut rows = stmt.raw_query();
                while let Some(row) = rows.next().map_err(Error::from)? {
                    if each(&Row::Sqlite(row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }),
            Statement::Postgres(link, prepared) => params.with(|bound| link.walk(prepared, bound, each)),
            Statement::MySql(link, prepared) => params.with(|bound| link.walk(prepared, bound, each)),
        }
    }
}

fn bind(stmt: &mut rusqlite::Statement, bound: Bound) -> Result<()> {
    match bound {
        Bound::Numbered(values) => {
            for (i, value) in values.iter().enumerate() {
                stmt.raw_bind_parameter(i + 1, value.cell())?;
            }
        }
        Bound::Named(values) => {
            for (name, value) in values {
                let place = stmt.parameter_index(name)?;
                let unknown = || Error::Decode { column: 0, why: format!("the statement has no {name}") };
                stmt.raw_bind_parameter(place.ok_or_else(unknown)?, value.cell())?;
            }
        }
    }
    Ok(())
}
