//! One connection to PostgreSQL. Statements are translated and prepared once and kept.

use std::cell::{Cell as Count, RefCell, RefMut};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use lru::LruCache;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Row, Statement};

use crate::backend::postgres::cells::Arg;
use crate::backend::postgres::set::{self, Column};
use crate::backend::{
    BindParam, Bound, Cell, Dialect, Error, ForRows, Lookup, Result, Row as AnyRow, Source, Translated, translate,
};

/// Search builds texts without end; the least recently used are dropped.
const STATEMENTS: NonZeroUsize = NonZeroUsize::new(512).unwrap();

pub(crate) struct Link {
    client: RefCell<Client>,
    prepared: RefCell<LruCache<String, Arc<Prepared>>>,
    sent: Count<u64>,
}

pub(crate) struct Prepared {
    statement: Statement,
    places: Vec<BindParam>,
    /// Of the values of one row, where there are many.
    types: Vec<Type>,
}

impl Link {
    pub fn new(client: Client) -> Self {
        Self { client: RefCell::new(client), prepared: RefCell::new(LruCache::new(STATEMENTS)), sent: Count::default() }
    }

    /// Statements sent since this was last asked, what prepares them aside.
    pub fn take_sent(&self) -> u64 {
        self.sent.take()
    }

    fn sending(&self) -> RefMut<'_, Client> {
        self.sent.set(self.sent.get() + 1);
        self.client.borrow_mut()
    }

    /// Many statements without values.
    pub fn batch(&self, sql: &str) -> Result<()> {
        Ok(self.sending().batch_execute(sql)?)
    }

    /// Ends the transaction by COMMIT or ROLLBACK. SAVEPOINT is an error in a transaction that has failed, and outside of
    /// any. COMMIT alone would answer ROLLBACK there, which the driver reports as success. A server that ended the
    /// transaction because nothing was sent says so now.
    pub fn end(&self, how: &str) -> Result<()> {
        self.batch(&format!("SAVEPOINT whole; {how}")).map_err(|error| match error {
            Error::Postgres(told) if told.code() == Some(&SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT) => {
                Error::Ended
            }
            other => other,
        })
    }

    pub fn is_closed(&self) -> bool {
        self.client.borrow().is_closed()
    }

    pub fn prepare(&self, sql: &str) -> Result<Arc<Prepared>> {
        if let Some(known) = self.prepared.borrow_mut().get(sql) {
            return Ok(Arc::clone(known));
        }
        let Translated { sql: text, places } = translate(sql, Dialect::Postgres);
        let statement = self.client.borrow_mut().prepare(&text)?;
        Ok(self.keep(sql.to_owned(), Prepared { statement, places, types: Vec::new() }))
    }

    fn keep(&self, name: String, prepared: Prepared) -> Arc<Prepared> {
        let prepared = Arc::new(prepared);
        self.prepared.borrow_mut().put(name, Arc::clone(&prepared));
        prepared
    }

    pub fn execute(&self, prepared: &Prepared, bound: Bound) -> Result<usize> {
        let args = prepared.args(bound)?;
        let args: Vec<&(dyn ToSql + Sync)> = args.iter().map(|arg| arg as &(dyn ToSql + Sync)).collect();
        Ok(self.sending().execute(&prepared.statement, &args)? as usize)
    }

    pub fn walk<E: From<Error>>(
        &self,
        prepared: &Prepared,
        bound: Bound,
        each: impl FnMut(&AnyRow) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        self.each_row(prepared, prepared.args(bound)?, each)
    }

    /// Reads the answer to its end, also after `each` has stopped: an error may follow the rows, and it has ended
    /// the transaction.
    fn each_row<E: From<Error>>(
        &self,
        prepared: &Prepared,
        args: Vec<Arg>,
        mut each: impl FnMut(&AnyRow) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        let mut client = self.sending();
        let mut rows = client.query_raw(&prepared.statement, args).map_err(Error::from)?;
        let mut outcome = Ok(ControlFlow::Continue(()));
        while let Some(row) = rows.next().map_err(Error::from)? {
            if let Ok(ControlFlow::Continue(())) = outcome {
                outcome = each(&AnyRow::Postgres(&row));
            }
        }
        outcome.map(|_| ())
    }
}

impl Link {
    pub fn execute_many<const N: usize>(&self, statement: &impl ForRows, rows: &[[Cell<'_>; N]]) -> Result<usize> {
        let many = self.prepare_set(statement)?;
        let columns = many.columns(rows);
        let args: Vec<Arg> = columns.iter().map(|column| Arg(column.cell())).collect();
        let args: Vec<&(dyn ToSql + Sync)> = args.iter().map(|arg| arg as &(dyn ToSql + Sync)).collect();
        Ok(self.sending().execute(&many.statement, &args)? as usize)
    }

    pub fn query_many<const N: usize>(
        &self,
        lookup: &Lookup,
        rows: &[[Cell<'_>; N]],
        mut each: impl FnMut(usize, &AnyRow) -> Result<()>,
    ) -> Result<()> {
        let many = self.prepare_set(lookup)?;
        let columns = many.columns(rows);
        let args: Vec<Arg> = columns.iter().map(|column| Arg(column.cell())).collect();
        self.each_row(&many, args, |row| {
            each(row.get::<i64>(row.len() - 1)? as usize - 1, row).map(|()| ControlFlow::Continue(()))
        })
    }

    /// The types of the values are those of the statement about one row.
    pub fn prepare_set(&self, statement: &(impl ForRows + ?Sized)) -> Result<Arc<Prepared>> {
        let sql = statement.on(Dialect::Postgres);
        let name = format!("set: {sql}");
        if let Some(known) = self.prepared.borrow_mut().get(&name) {
            return Ok(Arc::clone(known));
        }
        let one = self.prepare(&sql)?;
        let column = |place: &BindParam| {
            let number = one.places.iter().position(|known| known == place).map_or(0, |at| at + 1);
            format!("u.p{number}")
        };
        let types = one.statement.params().to_vec();
        let source = Source { dialect: Dialect::Postgres, table: set::source(&types), column: &column };
        let statement = self.client.borrow_mut().prepare(&statement.for_set(&source))?;
        Ok(self.keep(name, Prepared { statement, places: one.places.clone(), types }))
    }
}

impl Prepared {
    fn columns<'a, const N: usize>(&self, rows: &'a [[Cell<'a>; N]]) -> Vec<Column<'a>> {
        self.types.iter().zip(&self.places).map(|(ty, place)| Column::gather(ty, place, rows)).collect()
    }

    fn args<'a>(&self, bound: Bound<'a>) -> Result<Vec<Arg<'a>>> {
        let missing = |place: &BindParam| Error::Decode { column: 0, why: format!("nothing is bound to {place:?}") };
        let arg = |place: &BindParam| match (place, &bound) {
            (BindParam::Number(n), Bound::Numbered(values)) => values.get(n - 1).map(|value| Arg(value.cell())),
            (BindParam::Name(name), Bound::Named(values)) => {
                values.iter().find(|(known, _)| known == name).map(|(_, value)| Arg(value.cell()))
            }
            _ => None,
        };
        self.places.iter().map(|place| arg(place).ok_or_else(|| missing(place))).collect()
    }
}

pub(crate) fn cell(row: &Row, column: usize) -> Result<Cell<'_>> {
    Ok(row.try_get::<_, crate::backend::postgres::cells::Found>(column)?.0)
}
