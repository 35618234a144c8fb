//! Tables in PostgreSQL. Data, dead letters and ledger are one transaction, and so is what has to change about a
//! table before its records fit.

mod ledger;
mod table;

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use postgres::Client;
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
use super::{Batch, Committed, Destination, DestinationKind, Wanted};
use crate::record::PutAside;
use crate::sql::postgres::{Session, connect, failure, is_url};

pub const KIND: DestinationKind = DestinationKind { name: "postgres", typed: true, read, build };

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    url: String,
    #[serde(default = "public")]
    schema: String,
}

fn public() -> String {
    "public".to_owned()
}

fn read(section: &Section, _base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    if !is_url(&config.url) && !config.url.starts_with("${") {
        let message = "`url` must begin with postgres://";
        problems.add(section.span_of("url"), message, "for example: url: \"${secret:WAREHOUSE_URL}\"");
    }
    Some(serde_json::to_value(config).expect("a configuration serialises to JSON"))
}

fn build(config: Value, environment: &Environment) -> Result<Arc<dyn Destination>, Failure> {
    let refs = ResolvedRefs::of(&config, environment)?;
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    let (url, secret) = (refs.fill(&config.url), refs.secret());
    // Connected when it is first needed: a server that is away for a while fails a try, not the run.
    let database = Postgres { url, schema: config.schema, secret, client: None, tables: BTreeMap::new() };
    Ok(Arc::new(Blocking::new(database)))
}

struct Postgres {
    url: String,
    schema: String,
    secret: Secret,
    client: Option<Session>,
    /// As they are refs; a table that is not here is looked at first.
    tables: BTreeMap<String, Table>,
}

impl Postgres {
    /// The connection there is, or a new one where it was lost.
    fn connected(&mut self) -> Result<(&mut Client, &mut BTreeMap<String, Table>), Failure> {
        if self.client.as_ref().is_none_or(|client| client.is_closed()) {
            self.tables.clear();
            let mut client = connect(&self.url)?;
            ledger::create(&mut client, &self.schema).map_err(|error| failure(&error))?;
            self.client = Some(client);
        }
        Ok((self.client.as_mut().expect("it was just made"), &mut self.tables))
    }
}

impl Database for Postgres {
    fn commit(&mut self, batch: Batch) -> Result<Committed, Failure> {
        let schema = self.schema.clone();
        let (client, tables) = match self.connected() {
            Ok(connected) => connected,
            Err(failure) => return Err(self.secret.redact_failure(failure)),
        };
        let result = write(client, &schema, tables, batch).map_err(|error| failure(&error));
        if !matches!(result, Ok(Committed::Done { .. })) {
            // Columns that were added or widened are gone with the transaction.
            self.tables.clear();
        }
        result.map_err(|failure| self.secret.redact_failure(failure))
    }

    fn history(&mut self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        let found = self.connected().and_then(|(client, _)| ledger::history(client, scope, below, limit));
        found.map_err(|failure| self.secret.redact_failure(failure))
    }

    fn rejected(&mut self, wanted: &Wanted) -> Result<Vec<PutAside>, Failure> {
        let found = self.connected().and_then(|(client, _)| ledger::rejected(client, wanted));
        found.map_err(|failure| self.secret.redact_failure(failure))
    }
}

fn write(
    client: &mut Client,
    schema: &str,
    tables: &mut BTreeMap<String, Table>,
    batch: Batch,
) -> Result<Committed, postgres::Error> {
    let mut tx = client.transaction()?;
    if !ledger::append(&mut tx, &batch.scope, &batch.entry)? {
        return Ok(Committed::Taken);
    }
    let (mut upserted, mut bytes_out, mut refused, mut changes) = (0, 0, 0, Vec::new());
    ledger::take_back(&mut tx, &batch.replayed)?;
    for part in batch.tables {
        let table = match tables.entry(part.name) {
            btree_map::Entry::Occupied(refs) => refs.into_mut(),
            btree_map::Entry::Vacant(new) => {
                let table = Table::open(&mut tx, schema, new.key(), &part.key)?;
                new.insert(table)
            }
        };
        let written = table.write(&mut tx, part.records, &batch.types)?;
        if let Some(change) = written.stopped {
            return Ok(Committed::Stopped(change));
        }
        changes.extend(written.changes);
        upserted += written.rows;
        bytes_out += written.bytes;
        refused += written.rejected.len() as i64;
        ledger::put_aside(&mut tx, &batch.scope, &batch.entry, &written.rejected)?;
    }
    ledger::put_aside(&mut tx, &batch.scope, &batch.entry, &batch.rejected)?;
    tx.commit()?;
    Ok(Committed::Done { upserted, bytes_out, rejected: refused, changes })
}
