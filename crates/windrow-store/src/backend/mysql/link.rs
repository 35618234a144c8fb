//! One connection to MySQL or MariaDB. Statements are translated and prepared once and kept.

use std::cell::{Cell as Count, RefCell, RefMut};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};

use crate::backend::mysql::set::Kind;
use crate::backend::mysql::{cells, set};
use crate::backend::{
    BindParam, Bound, Cell, Dialect, Error, ForRows, IDLE_S, Lookup, Result, Row, Source, Translated, translate,
};

/// Fewer than the driver keeps, so that none of these is closed behind our back.
pub(super) const STATEMENTS: usize = 512;
/// `SAVEPOINT whole does not exist`.
const NO_SAVEPOINT: u16 = 1305;
/// MySQL closed the connection because nothing was sent.
const IDLE: u16 = 4031;
const KEPT: NonZeroUsize = NonZeroUsize::new(STATEMENTS).unwrap();
/// Rows of one insert; others are made of as many powers of two as it takes, so that few statements are prepared.
const LARGEST: usize = 256;

/// Before the server ends a connection that does nothing.
const CLOSED_AFTER: Duration = Duration::from_millis(IDLE_S as u64 * 500);

pub(crate) struct Link {
    conn: RefCell<Conn>,
    prepared: RefCell<LruCache<String, Arc<Prepared>>>,
    sent: Count<u64>,
    /// It has begun a transaction before.
    transactional: Count<bool>,
    used_at: Count<Instant>,
    /// The server ends it when it does nothing for a while.
    short_lived: bool,
}

pub(crate) struct Prepared {
    statement: Statement,
    places: Vec<BindParam>,
    /// It changes rows whose key exists, which the server counts twice.
    replaces: bool,
}

impl Link {
    pub fn new(conn: Conn) -> Self {
        Self {
            conn: RefCell::new(conn),
            prepared: RefCell::new(LruCache::new(KEPT)),
            sent: Count::default(),
            transactional: Count::default(),
            used_at: Count::new(Instant::now()),
            short_lived: false,
        }
    }

    /// One that writes. MySQL ends no transaction that does nothing, but its connection.
    pub fn of_writer(mut conn: Conn) -> Result<Self> {
        let version: Option<String> = conn.query_first("SELECT version()")?;
        let short_lived = !version.unwrap_or_default().contains("MariaDB");
        Ok(Self { short_lived, ..Self::new(conn) })
    }

    /// Whether the server has ended it, or is about to. Otherwise the next statement tells.
    pub fn is_closed(&self) -> bool {
        self.short_lived && self.used_at.get().elapsed() >= CLOSED_AFTER
    }

    /// Statements sent since this was last asked, what prepares them aside.
    pub fn take_sent(&self) -> u64 {
        self.sent.take()
    }

    fn sending(&self) -> RefMut<'_, Conn> {
        self.sent.set(self.sent.get() + 1);
        self.used_at.set(Instant::now());
        self.conn.borrow_mut()
    }

    /// Statements without values, one after the other.
    pub fn batch(&self, sql: &str) -> Result<()> {
        let mut conn = self.sending();
        sql.split(";\n").filter(|sql| !sql.trim().is_empty()).try_for_each(|sql| {
            let mut answer = conn.query_iter(sql)?;
            while let Some(set) = answer.iter() {
                read_to_end(set)?;
            }
            Ok(())
        })
    }

    /// Begins a transaction and marks it with a savepoint, which is gone as soon as the server ends the transaction.
    pub fn begin(&self, begin: &str) -> Result<()> {
        if !self.transactional.get() {
            // Otherwise a statement after the end of a transaction is committed by itself.
            // A setting of the connection: it does not count as a statement of the verb.
            self.conn.borrow_mut().query_drop("SET autocommit = 0")?;
            self.transactional.set(true);
        }
        self.batch(&format!("{begin}; SAVEPOINT whole"))
    }

    /// Ends the transaction by COMMIT or ROLLBACK, and fails if it is not the one that was begun.
    pub fn end(&self, how: &str) -> Result<()> {
        self.batch(&format!("RELEASE SAVEPOINT whole; {how}")).map_err(|error| match error {
            Error::MySql(mysql::Error::MySqlError(told)) if [NO_SAVEPOINT, IDLE].contains(&told.code) => Error::Ended,
            other => other,
        })
    }

    pub fn prepare(&self, sql: &str, replaces: bool) -> Result<Arc<Prepared>> {
        self.keep(sql, replaces, || {
            let Translated { sql, places } = translate(sql, Dialect::MySql);
            (sql, places)
        })
    }

    /// What is prepared under this name, made if it is not there.
    fn keep(
        &self,
        name: &str,
        replaces: bool,
        made: impl FnOnce() -> (String, Vec<BindParam>),
    ) -> Result<Arc<Prepared>> {
        if let Some(known) = self.prepared.borrow_mut().get(name) {
            return Ok(Arc::clone(known));
        }
        let (text, places) = made();
        let statement = self.conn.borrow_mut().prep(&text)?;
        let prepared = Arc::new(Prepared { statement, places, replaces });
        self.prepared.borrow_mut().put(name.to_owned(), Arc::clone(&prepared));
        Ok(prepared)
    }

    pub fn execute(&self, prepared: &Prepared, bound: Bound) -> Result<usize> {
        let changed = self.run(prepared, prepared.values(bound)?)?;
        Ok(if prepared.replaces { changed.min(1) } else { changed })
    }

    fn run(&self, prepared: &Prepared, values: Vec<Value>) -> Result<usize> {
        let mut conn = self.sending();
        let answer = conn.exec_iter(&prepared.statement, positional(values))?;
        let changed = answer.affected_rows() as usize;
        read_to_end(answer)?;
        Ok(changed)
    }

    pub fn last_insert_id(&self) -> i64 {
        self.conn.borrow().last_insert_id() as i64
    }

    pub fn walk<E: From<Error>>(
        &self,
        prepared: &Prepared,
        bound: Bound,
        each: impl FnMut(&Row) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        self.each_row(prepared, prepared.values(bound)?, each)
    }

    /// Reads the answer to its end, also after `each` has stopped: an error may follow the rows, and it may have
    /// ended the transaction.
    fn each_row<E: From<Error>>(
        &self,
        prepared: &Prepared,
        values: Vec<Value>,
        mut each: impl FnMut(&Row) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        let mut conn = self.sending();
        let mut outcome = Ok(ControlFlow::Continue(()));
        for row in conn.exec_iter(&prepared.statement, positional(values)).map_err(Error::from)? {
            let row = row.map_err(Error::from)?;
            if let Ok(ControlFlow::Continue(())) = outcome {
                outcome = each(&Row::MySql(&row));
            }
        }
        outcome.map(|_| ())
    }
}

impl Link {
    pub fn execute_many<const N: usize>(&self, statement: &impl ForRows, rows: &[[Cell<'_>; N]]) -> Result<usize> {
        if statement.listed(1).is_some() {
            return set::portions(rows).try_fold(0, |changed, some| Ok(changed + self.insert_many(statement, some)?));
        }
        let prepared = self.prepare_set(statement, &set::kinds(rows))?;
        set::portions(rows)
            .try_fold(0, |changed, some| Ok(changed + self.run(&prepared, vec![Value::from(set::document(some))])?))
    }

    fn insert_many<const N: usize>(&self, statement: &impl ForRows, mut rows: &[[Cell<'_>; N]]) -> Result<usize> {
        let mut changed = 0;
        while !rows.is_empty() {
            let now;
            (now, rows) = rows.split_at(1 << rows.len().min(LARGEST).ilog2());
            let one = self.prepare(&statement.on(Dialect::MySql), statement.replaces())?;
            let listed = statement.listed(now.len()).unwrap_or_default();
            let prepared = self.prepare(&listed, statement.replaces())?;
            let values: Result<Vec<Value>> =
                now.iter().flat_map(|row| one.places.iter().map(|place| of_row(row, place))).collect();
            let inserted = self.run(&prepared, values?)?;
            changed += if prepared.replaces { now.len() } else { inserted };
        }
        Ok(changed)
    }

    pub fn prepare_set(&self, statement: &(impl ForRows + ?Sized), kinds: &[Kind]) -> Result<Arc<Prepared>> {
        self.keep(&format!("{kinds:?} {}", statement.on(Dialect::MySql)), statement.replaces(), || {
            let column = |place: &BindParam| set::column(kinds, place);
            let source = Source { dialect: Dialect::MySql, table: set::source(kinds), column: &column };
            (statement.for_set(&source), Vec::new())
        })
    }

    pub fn query_many<const N: usize>(
        &self,
        lookup: &Lookup,
        rows: &[[Cell<'_>; N]],
        mut each: impl FnMut(usize, &Row) -> Result<()>,
    ) -> Result<()> {
        let prepared = self.prepare_set(lookup, &set::kinds(rows))?;
        self.each_row(&prepared, vec![Value::from(set::document(rows))], |row| {
            each(row.get::<i64>(row.len() - 1)? as usize - 1, row).map(|()| ControlFlow::Continue(()))
        })
    }
}

fn read_to_end(mut rows: impl Iterator<Item = mysql::Result<mysql::Row>>) -> mysql::Result<()> {
    rows.try_for_each(|row| row.map(drop))
}

fn positional(values: Vec<Value>) -> Params {
    if values.is_empty() { Params::Empty } else { Params::Positional(values) }
}

fn of_row(row: &[Cell], place: &BindParam) -> Result<Value> {
    match place {
        BindParam::Number(n) => cells::value(row.get(n - 1).copied().unwrap_or(Cell::Null)),
        BindParam::Name(name) => Err(Error::Decode { column: 0, why: format!("a row has no {name}") }),
    }
}

impl Prepared {
    fn values(&self, bound: Bound) -> Result<Vec<Value>> {
        let missing = |place: &BindParam| Error::Decode { column: 0, why: format!("nothing is bound to {place:?}") };
        let value = |place: &BindParam| match (place, &bound) {
            (BindParam::Number(n), Bound::Numbered(values)) => {
                values.get(n - 1).map(|value| cells::value(value.cell()))
            }
            (BindParam::Name(name), Bound::Named(values)) => {
                values.iter().find(|(known, _)| known == name).map(|(_, value)| cells::value(value.cell()))
            }
            _ => None,
        };
        self.places.iter().map(|place| value(place).unwrap_or_else(|| Err(missing(place)))).collect()
    }
}
