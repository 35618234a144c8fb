//! One connection to PostgreSQL. Statements are translated and prepared once and kept.

use std::cell::{Cell as Count, RefCell, RefMut};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use lru::LruCache;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Row, Statement};

use crate::backend::postgres::cells::Arg;
use crate::backend::postgres::set::{self, Column};
use crate::backend::{
    Bound, Cell, Dialect, Error, ForRows, Lookup, Place, Result, Row as AnyRow, Source, Translated, translate,
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
    places: Vec<Place>,
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
        mut each: impl FnMut(&AnyRow) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        let args = prepared.args(bound)?;
        let mut client = self.sending();
        let mut rows = client.query_raw(&prepared.statement, args).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            if each(&AnyRow::Postgres(&row))?.is_break() {
                break;
            }
        }
        Ok(())
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
        let mut client = self.sending();
        let mut found = client.query_raw(&many.statement, args)?;
        while let Some(row) = found.next()? {
            let number: i64 = row.try_get(row.len() - 1)?;
            each(number as usize - 1, &AnyRow::Postgres(&row))?;
        }
        Ok(())
    }

    /// The types of the values are those of the statement about one row.
    pub fn prepare_set(&self, statement: &(impl ForRows + ?Sized)) -> Result<Arc<Prepared>> {
        let sql = statement.on(Dialect::Postgres);
        let name = format!("set: {sql}");
        if let Some(known) = self.prepared.borrow_mut().get(&name) {
            return Ok(Arc::clone(known));
        }
        let one = self.prepare(&sql)?;
        let column = |place: &Place| {
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
        let missing = |place: &Place| Error::Strange { column: 0, why: format!("nothing is bound to {place:?}") };
        let arg = |place: &Place| match (place, &bound) {
            (Place::Number(n), Bound::Numbered(values)) => values.get(n - 1).map(|value| Arg(value.cell())),
            (Place::Name(name), Bound::Named(values)) => {
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
