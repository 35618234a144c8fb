//! Tables in an SQLite file. Data, dead letters and ledger are one transaction.

mod ledger;
mod table;

use std::collections::{BTreeMap, btree_map};
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::Entry;
use windrow_model::{ErrorClass, Failure};

use self::table::Table;
use super::blocking::{Blocking, Database};
use super::{Batch, Committed, Destination, DestinationKind, Wanted};
use crate::record::PutAside;

pub const KIND: DestinationKind = DestinationKind { name: "sqlite", typed: true, read, build };

const BUSY: std::time::Duration = std::time::Duration::from_secs(30);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    path: PathBuf,
}

fn read(section: &Section, base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    let given = config.path.display().to_string();
    let Some(path) = base.locate(&given) else {
        let message = format!("{given} lies outside of the folder for files");
        problems.add(section.span_of("path"), message, "name a file below it");
        return None;
    };
    Some(serde_json::to_value(Config { path }).expect("a configuration serialises to JSON"))
}

fn build(config: Value, _environment: &Environment) -> Result<Arc<dyn Destination>, Failure> {
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    if let Some(folder) = config.path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| invalid_request(format!("{}: {error}", folder.display())))?;
    }
    let open = || {
        let connection = Connection::open(&config.path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.set_prepared_statement_cache_capacity(64);
        ledger::create(&connection)?;
        Ok::<_, rusqlite::Error>(connection)
    };
    let connection = open().map_err(|error| invalid_request(format!("{}: {error}", config.path.display())))?;
    Ok(Arc::new(Blocking::new(Sqlite { connection, tables: BTreeMap::new() })))
}

struct Sqlite {
    connection: Connection,
    tables: BTreeMap<String, Table>,
}

fn failure(error: rusqlite::Error) -> Failure {
    // A full disk or a long lock may pass; a malformed file does not.
    let class = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => ErrorClass::Timeout,
        Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure) => ErrorClass::Server,
        _ => ErrorClass::Handler,
    };
    Failure::new(class, format!("the destination: {error}"))
}

impl Database for Sqlite {
    fn commit(&mut self, batch: Batch) -> Result<Committed, Failure> {
        // In WAL mode one commit that waits for the disk makes all before it durable too.
        let level = if batch.entry.checkpoint.done { "full" } else { "normal" };
        self.connection.pragma_update(None, "synchronous", level).map_err(failure)?;
        let result = self.commit_once(batch);
        if !matches!(result, Ok(Committed::Done { .. })) {
            // Columns that were added or widened are gone with the transaction.
            self.tables.clear();
        }
        result.map_err(failure)
    }

    fn history(&mut self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        ledger::history(&self.connection, scope, below, limit).map_err(failure)
    }

    fn rejected(&mut self, wanted: &Wanted) -> Result<Vec<PutAside>, Failure> {
        ledger::rejected(&self.connection, wanted).map_err(failure)
    }
}

impl Sqlite {
    fn commit_once(&mut self, batch: Batch) -> rusqlite::Result<Committed> {
        let Self { connection, tables } = self;
        let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        if !ledger::append(&tx, &batch.scope, &batch.entry)? {
            return Ok(Committed::Taken);
        }
        let (mut upserted, mut bytes_out, mut refused, mut changes) = (0, 0, 0, Vec::new());
        ledger::take_back(&tx, &batch.replayed)?;
        for part in batch.tables {
            let table = match tables.entry(part.name) {
                btree_map::Entry::Occupied(known) => known.into_mut(),
                btree_map::Entry::Vacant(new) => {
                    let table = Table::open(&tx, new.key(), &part.key)?;
                    new.insert(table)
                }
            };
            let written = table.write(&tx, part.records, &batch.types)?;
            if let Some(change) = written.stopped {
                return Ok(Committed::Stopped(change));
            }
            changes.extend(written.changes);
            upserted += written.rows;
            bytes_out += written.bytes;
            refused += written.rejected.len() as i64;
            ledger::put_aside(&tx, &batch.scope, &batch.entry, &written.rejected)?;
        }
        ledger::put_aside(&tx, &batch.scope, &batch.entry, &batch.rejected)?;
        tx.commit()?;
        Ok(Committed::Done { upserted, bytes_out, rejected: refused, changes })
    }
}
