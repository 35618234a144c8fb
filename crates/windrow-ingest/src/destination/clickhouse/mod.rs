//! Tables in ClickHouse, which has no transactions: data is written first, its ledger entry last, and everything
//! in such a way that writing it again is harmless. A writer that was taken for dead cannot be fenced off here; what
//! it writes is what the other writes too.

mod client;
mod ledger;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::ingest::Entry;

use self::client::Client;
use self::table::Table;
use super::{Batch, Committed, Destination, DestinationKind, Written};

pub const KIND: DestinationKind = DestinationKind { name: "clickhouse", typed: true, read, build };

/// It likes few large blocks.
const BATCH: usize = 10_000;
/// A larger block would be cut, and a part of it might be missing after a crash.
const MOST: usize = 1_000_000;
const HAS_BOOL: (u32, u32) = (21, 12);
const HAS_TOKEN: (u32, u32) = (22, 2);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    url: String,
    /// Records of a block, at least.
    #[serde(default = "batch")]
    batch: usize,
}

fn batch() -> usize {
    BATCH
}

fn read(section: &Section, _base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    let begins = ["http://", "https://", "${"].iter().any(|start| config.url.starts_with(start));
    if !begins {
        let message = "`url` must begin with http:// or https://";
        problems.add(
            section.span_of("url"),
            message,
            "for example: url: \"http://user:${secret:PASSWORD}@host:8123/database\"",
        );
    }
    if !(1..=MOST).contains(&config.batch) {
        let message = format!("`batch` is {}, but must be 1 to {MOST}", config.batch);
        problems.add(section.span_of("batch"), message, "a batch is held in memory; 10000 is a good size");
    }
    Some(serde_json::to_value(config).expect("a configuration serialises to JSON"))
}

fn build(config: Value, environment: &Environment) -> Result<Arc<dyn Destination>, Failure> {
    let refs = ResolvedRefs::of(&config, environment)?;
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    let client = Client::new(&refs.fill(&config.url), refs.secret())?;
    Ok(Arc::new(ClickHouse { client, batch: config.batch, version: Mutex::default(), tables: Mutex::default() }))
}

struct ClickHouse {
    client: Client,
    batch: usize,
    /// Of the server, once it was asked and has its ledger.
    version: Mutex<Option<(u32, u32)>>,
    /// As they are refs; a table that is not here is looked at first.
    tables: Mutex<BTreeMap<String, Table>>,
}

impl ClickHouse {
    async fn ready(&self) -> Result<(u32, u32), Failure> {
        let refs = *self.version.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = refs {
            return Ok(version);
        }
        let said = self.client.perform("SELECT version()").await?;
        let mut numbers = said.trim().split('.').map(|number| number.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        ledger::create(&self.client).await?;
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
        Ok(version)
    }

    async fn table(&self, name: &str, key: &[String], has_bool: bool) -> Result<Table, Failure> {
        let refs = self.tables.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        match refs {
            Some(table) => Ok(table),
            None => Table::open(&self.client, name, key, has_bool).await,
        }
    }
}

#[async_trait]
impl Destination for ClickHouse {
    async fn last(&self, scope: &str) -> Result<Option<Entry>, Failure> {
        Ok(self.history(scope, None, 1).await?.pop())
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, Failure> {
        let version = self.ready().await?;
        let Batch { scope, entry, tables, rejected, types, .. } = batch;
        if ledger::is_taken(&self.client, &scope, &entry).await? {
            return Ok(Committed::Taken);
        }
        let (given, mut upserted, mut bytes_out) = (rejected.len(), 0, 0);
        let mut written = Written { rejected, ..Written::default() };
        for part in tables {
            let mut table = self.table(&part.name, &part.key, version >= HAS_BOOL).await?;
            let records = table.fit(&self.client, part.records, &types, &mut written).await?;
            if let Some(change) = written.stopped {
                return Ok(Committed::Stopped(change));
            }
            if !records.is_empty() {
                let block = table.block(&records, &entry);
                bytes_out += block.len() as i64;
                let key = (version >= HAS_TOKEN).then_some(entry.key.as_str());
                self.client.insert(&table.insert_sql(), block, key).await?;
                upserted += records.len() as i64;
            }
            self.tables.lock().unwrap_or_else(PoisonError::into_inner).insert(part.name, table);
        }
        let Written { rejected, changes, .. } = written;
        ledger::put_aside(&self.client, &scope, &entry, &rejected).await?;
        ledger::append(&self.client, &scope, &entry).await?;
        Ok(Committed::Done { upserted, bytes_out, rejected: (rejected.len() - given) as i64, changes })
    }

    async fn history(&self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        self.ready().await?;
        ledger::history(&self.client, scope, below, limit).await
    }

    fn batch_records(&self) -> usize {
        self.batch
    }
}
