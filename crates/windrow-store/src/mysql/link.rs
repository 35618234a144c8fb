//! One connection to MySQL or MariaDB. Statements are translated and prepared once and kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};

use super::cells;
use crate::sql::db::{Bound, Dialect, Error, Place, Result, Row, Translated, translate};

/// Fewer than the driver keeps, so that none of these is closed behind our back.
const STATEMENTS: usize = 512;

pub(crate) struct Link {
    conn: RefCell<Conn>,
    prepared: RefCell<HashMap<String, Arc<Prepared>>>,
}

pub(crate) struct Prepared {
    statement: Statement,
    places: Vec<Place>,
}

impl Link {
    pub fn new(conn: Conn) -> Self {
        Self { conn: RefCell::new(conn), prepared: RefCell::default() }
    }

    /// Statements without values, one after the other.
    pub fn batch(&self, sql: &str) -> Result<()> {
        let mut conn = self.conn.borrow_mut();
        sql.split(";\n").filter(|sql| !sql.trim().is_empty()).try_for_each(|sql| Ok(conn.query_drop(sql)?))
    }

    pub fn prepare(&self, sql: &str) -> Result<Arc<Prepared>> {
        if let Some(known) = self.prepared.borrow().get(sql) {
            return Ok(Arc::clone(known));
        }
        let Translated { sql: text, places } = translate(sql, Dialect::MySql);
        let statement = self.conn.borrow_mut().prep(&text)?;
        let prepared = Arc::new(Prepared { statement, places });
        let mut known = self.prepared.borrow_mut();
        if known.len() >= STATEMENTS {
            known.clear();
        }
        known.insert(sql.to_owned(), Arc::clone(&prepared));
        Ok(prepared)
    }

    pub fn execute(&self, prepared: &Prepared, bound: Bound) -> Result<usize> {
        let values = prepared.values(bound)?;
        Ok(self.conn.borrow_mut().exec_iter(&prepared.statement, values)?.affected_rows() as usize)
    }

    pub fn last_insert_id(&self) -> i64 {
        self.conn.borrow().last_insert_id() as i64
    }

    pub fn walk<E: From<Error>>(
        &self,
        prepared: &Prepared,
        bound: Bound,
        mut each: impl FnMut(&Row) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        let values = prepared.values(bound)?;
        let mut conn = self.conn.borrow_mut();
        let rows = conn.exec_iter(&prepared.statement, values).map_err(Error::from)?;
        for row in rows {
            if each(&Row::MySql(&row.map_err(Error::from)?))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Prepared {
    fn values(&self, bound: Bound) -> Result<Params> {
        let missing = |place: &Place| Error::Strange { column: 0, why: format!("nothing is bound to {place:?}") };
        let value = |place: &Place| match (place, &bound) {
            (Place::Number(n), Bound::Numbered(values)) => values.get(n - 1).map(|value| cells::value(value.cell())),
            (Place::Name(name), Bound::Named(values)) => {
                values.iter().find(|(known, _)| known == name).map(|(_, value)| cells::value(value.cell()))
            }
            _ => None,
        };
        let values: Result<Vec<Value>> =
            self.places.iter().map(|place| value(place).unwrap_or_else(|| Err(missing(place)))).collect();
        Ok(match values? {
            none if none.is_empty() => Params::Empty,
            some => Params::Positional(some),
        })
    }
}
