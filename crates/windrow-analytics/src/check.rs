//! Compares the copy with the database: rows and a checksum over them, per job. The rows are derived again from the
//! records, page by page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use windrow_model::store::{JobFilter, Store};
use windrow_model::{ItemId, JobId, Json};

use crate::batch::{Batch, Digest};
use crate::client::{Client, literal};
use crate::relay::Trouble;
use crate::schema::{self, ITEMS, JOBS, KEYS, RESULTS, RUNS, STEPS};
use crate::source::Records;

/// Tables with a row for each part of a job.
const TABLES: [&str; 4] = [ITEMS, RESULTS, STEPS, RUNS];
const PAGE: usize = 500;

/// One table of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    pub table: &'static str,
    pub database: Digest,
    pub clickhouse: Digest,
}

impl Compared {
    pub fn is_equal(&self) -> bool {
        self.database == self.clickhouse
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCheck {
    pub job: JobId,
    pub name: String,
    /// A run is active: rows may change while they are compared.
    pub active: bool,
    pub tables: Vec<Compared>,
}

impl JobCheck {
    pub fn is_equal(&self) -> bool {
        self.tables.iter().all(Compared::is_equal)
    }
}

/// `None`: the database has no such job.
pub async fn job(
    store: &dyn Store,
    client: &Client,
    id: JobId,
    evaluators: fn(&Json) -> Vec<String>,
) -> Result<Option<JobCheck>, Trouble> {
    let columns = schema::columns(client, id).await?;
    let Some(mut records) = Records::read(store, id, columns, evaluators).await? else { return Ok(None) };
    let mut found: BTreeMap<&'static str, Digest> = BTreeMap::new();
    let mut after = ItemId(0);
    loop {
        let mut batch = Batch::new(0);
        let Some(walked) = records.add_page(store, after, &mut batch).await? else { return Ok(None) };
        for table in TABLES {
            *found.entry(table).or_default() += batch.digest(table);
        }
        if walked.done {
            break;
        }
        after = walked.to;
    }
    found.insert(RUNS, Digest { rows: records.runs.len() as u64, sum: 0 });
    let mut tables = Vec::new();
    for table in TABLES {
        let clickhouse = digest(client, &records.job.workspace, id, table).await?;
        tables.push(Compared { table, database: found[table], clickhouse });
    }
    let active = records.runs.get(&records.job.latest_run).is_none_or(|run| !run.state.is_final());
    Ok(Some(JobCheck { job: id, name: records.job.name, active, tables }))
}

async fn digest(client: &Client, workspace: &str, job: JobId, table: &'static str) -> Result<Digest, Trouble> {
    let sum = if matches!(table, ITEMS | RESULTS) { "sum(fingerprint)" } else { "toUInt64(0)" };
    let place = format!("workspace = {} AND job_id = {}", literal(workspace), job.0);
    let sql = format!("SELECT count() AS rows, {sum} AS sum FROM {table} FINAL WHERE {place}");
    Ok(client.rows(&sql).await?.pop().unwrap_or_default())
}

/// Jobs of all workspaces, or of one, newest first.
pub async fn jobs(store: &dyn Store, workspace: Option<&str>) -> Result<Vec<JobId>, Trouble> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let workspace = workspace.map(str::to_owned);
        let page = store.jobs(JobFilter { workspace, before, limit: PAGE, ..JobFilter::default() }).await?;
        found.extend(page.iter().map(|(job, _)| job.id));
        before = page.last().map(|(job, _)| job.id);
        if page.len() < PAGE {
            return Ok(found);
        }
    }
}

/// Jobs of which only ClickHouse has rows, in any table, with their names.
pub async fn superfluous(store: &dyn Store, client: &Client) -> Result<BTreeMap<JobId, String>, Trouble> {
    #[derive(Deserialize)]
    struct Row {
        job_id: i64,
        name: String,
    }
    // Runs and steps have no name.
    let parts = KEYS.map(|(table, _)| {
        let name = if matches!(table, ITEMS | RESULTS | JOBS) { "toString(any(job))" } else { "''" };
        format!("SELECT job_id, {name} AS name FROM {table} FINAL GROUP BY job_id")
    });
    let sql = format!("SELECT job_id, max(name) AS name FROM ({}) GROUP BY job_id", parts.join(" UNION ALL "));
    let rows: Vec<Row> = client.rows(&sql).await?;
    let known: BTreeSet<JobId> = jobs(store, None).await?.into_iter().collect();
    let found = rows.into_iter().map(|row| (JobId(row.job_id), row.name));
    Ok(found.filter(|(job, _)| !known.contains(job)).collect())
}
