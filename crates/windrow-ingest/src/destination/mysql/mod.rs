//! Tables in MySQL or MariaDB. Data, dead letters and ledger are one transaction. A change of a table ends a
//! transaction here, so tables are made to fit before it begins: a wider column that nobody needed does no harm.

mod ledger;
mod table;

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use mysql::{Conn, TxOpts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::http_client::Secret;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::ingest::Entry;

use self::table::Table;
use super::blocking::{Blocking, Database};
use super::{Batch, Committed, Destination, DestinationKind, Wanted, Written};
use crate::record::PutAside;
use crate::sql::mysql::{connect, failure, is_url};

pub const KIND: DestinationKind = DestinationKind { name: "mysql", typed: true, read, build };

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    url: String,
}

fn read(section: &Section, _base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    if !is_url(&config.url) && !config.url.starts_with("${") {
        let message = "`url` must begin with mysql:// or mariadb://";
        problems.add(section.span_of("url"), message, "for example: url: \"${secret:WAREHOUSE_URL}\"");
    }
    Some(serde_json::to_value(config).expect("a configuration serialises to JSON"))
}

fn build(config: Value, environment: &Environment) -> Result<Arc<dyn Destination>, Failure> {
    let refs = ResolvedRefs::of(&config, environment)?;
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    let (url, secret) = (refs.fill(&config.url), refs.secret());
    // Connected when it is first needed: a server that is away for a while fails a try, not the run.
    let database = MySql { url, secret, conn: None, tables: BTreeMap::new() };
    Ok(Arc::new(Blocking::new(database)))
}

struct MySql {
    url: String,
    secret: Secret,
    conn: Option<Conn>,
    /// As they are refs; a table that is not here is looked at first.
    tables: BTreeMap<String, Table>,
}

impl MySql {
    /// The connection there is, or a new one where it was lost.
    fn connected(&mut self) -> Result<(&mut Conn, &mut BTreeMap<String, Table>), Failure> {
        if self.conn.is_none() {
            self.tables.clear();
            let mut conn = connect(&self.url)?;
            ledger::create(&mut conn).map_err(|error| failure(&error))?;
            self.conn = Some(conn);
        }
        Ok((self.conn.as_mut().expect("it was just made"), &mut self.tables))
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Conn, &mut BTreeMap<String, Table>) -> Result<T, mysql::Error>,
    ) -> Result<T, Failure> {
        let done = match self.connected() {
            Ok((conn, tables)) => work(conn, tables),
            Err(failure) => return Err(self.secret.redact_failure(failure)),
        };
        done.map_err(|error| {
            // Whatever it was, a new connection has no transaction open and knows no table wrongly.
            self.conn = None;
            self.secret.redact_failure(failure(&error))
        })
    }
}

impl Database for MySql {
    fn commit(&mut self, batch: Batch) -> Result<Committed, Failure> {
        self.with(|conn, tables| write(conn, tables, batch))
    }

    fn history(&mut self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        self.with(|conn, _| ledger::history(conn, scope, below, limit))?.into_iter().collect()
    }

    fn rejected(&mut self, wanted: &Wanted) -> Result<Vec<PutAside>, Failure> {
        self.with(|conn, _| ledger::rejected(conn, wanted))
    }
}

fn write(conn: &mut Conn, tables: &mut BTreeMap<String, Table>, batch: Batch) -> Result<Committed, mysql::Error> {
    let (mut total, mut parts) = (Written::default(), Vec::new());
    for part in batch.tables {
        let table = match tables.entry(part.name.clone()) {
            btree_map::Entry::Occupied(refs) => refs.into_mut(),
            btree_map::Entry::Vacant(new) => new.insert(Table::open(conn, &part.name, &part.key)?),
        };
        let fitting = table.fit(conn, part.records, &batch.types, &mut total)?;
        if let Some(change) = total.stopped {
            return Ok(Committed::Stopped(change));
        }
        parts.push((part.name, fitting));
    }
    let mut tx = conn.start_transaction(TxOpts::default())?;
    if !ledger::append(&mut tx, &batch.scope, &batch.entry)? {
        tx.rollback()?;
        return Ok(Committed::Taken);
    }
    ledger::take_back(&mut tx, &batch.replayed)?;
    for (name, records) in parts {
        tables[&name].write(&mut tx, records, &mut total)?;
    }
    ledger::put_aside(&mut tx, &batch.scope, &batch.entry, &total.rejected)?;
    ledger::put_aside(&mut tx, &batch.scope, &batch.entry, &batch.rejected)?;
    tx.commit()?;
    let Written { rows: upserted, bytes: bytes_out, rejected, changes, .. } = total;
    Ok(Committed::Done { upserted, bytes_out, rejected: rejected.len() as i64, changes })
}
