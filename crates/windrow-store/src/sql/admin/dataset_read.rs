//! Datasets, their versions and rows, as they are read.

use std::collections::HashMap;
use std::ops::ControlFlow;

use windrow_model::dataset::{Dataset, DatasetListing, DatasetRow, DatasetVersion, Difference, Digest};
use windrow_model::store::StoreError;
use windrow_model::{DatasetId, DatasetVersionId};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, Lookup, OptionalExtension, Sql, params};
use crate::sql::cells::Cells;

const DATASET: &str = "d.id, d.workspace, d.name, d.created_at";
const VERSION: &str = "v.id, v.dataset_id, v.version, v.rows, v.bytes, v.digest, v.schema, v.profile, v.source, \
                       v.actor, v.created_at";

pub(crate) static BY_NAME: Sql =
    Sql::new(|_| format!("SELECT {DATASET} FROM datasets d WHERE d.workspace = ?1 AND d.name = ?2"));
pub(crate) static BY_ID: Sql = Sql::new(|_| format!("SELECT {VERSION} FROM dataset_versions v WHERE v.id = ?1"));
pub(crate) static VERSIONS: Sql = Sql::new(|_| {
    format!(
        "SELECT {VERSION} FROM dataset_versions v WHERE v.dataset_id = ?1 AND v.state = 'ready'
         ORDER BY v.version DESC LIMIT ?2"
    )
});
pub(crate) static DATASETS: Sql =
    Sql::new(|_| format!("SELECT {DATASET} FROM datasets d WHERE d.workspace = ?1 ORDER BY d.name"));
pub(crate) static NEWEST: Lookup = Lookup::new(
    VERSION,
    "dataset_versions v",
    "v.dataset_id = ?1 AND v.state = 'ready' AND v.version = \
     (SELECT max(n.version) FROM dataset_versions n WHERE n.dataset_id = ?1 AND n.state = 'ready')",
    "",
);
pub(crate) const COUNTS: &str = "SELECT d.id, count(*) FROM datasets d JOIN dataset_versions v ON v.dataset_id = d.id \
    WHERE d.workspace = ?1 AND v.state = 'ready' GROUP BY d.id";
pub(crate) static BODIES: Lookup = Lookup::new("key, body", "dataset_rows", "id = ?1", "");
pub(crate) static ROWS: Sql = Sql::new(|d| {
    format!(
        "SELECT e.ordinal, r.key, r.body FROM dataset_entries e {} \
         WHERE e.version_id = ?1 AND e.ordinal >= ?2 ORDER BY e.ordinal LIMIT ?3",
        d.each_by_key("dataset_rows", "r", "r.id = e.row_id")
    )
});
pub(crate) const BOTH: &str = "SELECT row_id, -1 FROM dataset_entries WHERE version_id = ?1 AND row_id > ?3
    UNION ALL SELECT row_id, 1 FROM dataset_entries WHERE version_id = ?2 AND row_id > ?3 ORDER BY row_id";

fn dataset_from(c: &mut Cells) -> backend::Result<Dataset> {
    Ok(Dataset { id: DatasetId(c.get()?), workspace: c.get()?, name: c.get()?, created_at: c.time()? })
}

fn version_from(c: &mut Cells) -> backend::Result<DatasetVersion> {
    Ok(DatasetVersion {
        id: DatasetVersionId(c.get()?),
        dataset: DatasetId(c.get()?),
        version: c.get()?,
        rows: c.get()?,
        bytes: c.get()?,
        digest: Digest(c.get()?),
        schema: c.maybe_json()?,
        profile: c.json()?,
        source: c.get()?,
        actor: c.get()?,
        created_at: c.time()?,
    })
}

/// Also one of which no version is ready yet.
pub(crate) fn by_name(conn: &Connection, workspace: &str, name: &str) -> Result<Option<Dataset>> {
    let mut stmt = conn.prepare_cached(&BY_NAME)?;
    Ok(stmt.query_row([workspace, name], |row| dataset_from(&mut Cells::of(row))).optional()?)
}

pub(crate) fn find(conn: &Connection, workspace: &str, name: &str) -> Result<Option<Dataset>> {
    let Some(dataset) = by_name(conn, workspace, name)? else { return Ok(None) };
    Ok((!versions(conn, dataset.id, 1)?.is_empty()).then_some(dataset))
}

pub(crate) fn version(conn: &Connection, id: DatasetVersionId) -> Result<DatasetVersion> {
    let found = conn.prepare_cached(&BY_ID)?.query_row([id.0], |row| version_from(&mut Cells::of(row))).optional()?;
    Ok(found.ok_or_else(|| StoreError::NotFound { what: "dataset version", id: id.to_string() })?)
}

/// Newest first.
pub(crate) fn versions(conn: &Connection, dataset: DatasetId, limit: i64) -> Result<Vec<DatasetVersion>> {
    let mut stmt = conn.prepare_cached(&VERSIONS)?;
    let found = stmt.query_map([dataset.0, limit], |row| version_from(&mut Cells::of(row)))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn datasets(conn: &Connection, workspace: &str) -> Result<Vec<DatasetListing>> {
    let mut stmt = conn.prepare_cached(&DATASETS)?;
    let found = stmt.query_map([workspace], |row| dataset_from(&mut Cells::of(row)))?;
    let found: Vec<Dataset> = found.collect::<backend::Result<_>>()?;
    let mut stmt = conn.prepare_cached(COUNTS)?;
    let counts = stmt.query_map([workspace], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let counts: HashMap<i64, i64> = counts.collect::<backend::Result<_>>()?;
    let ids: Vec<[Cell; 1]> = found.iter().map(|dataset| [Cell::Int(dataset.id.0)]).collect();
    let mut newest: Vec<Option<DatasetVersion>> = ids.iter().map(|_| None).collect();
    conn.query_many(&NEWEST, &ids, |n, row| {
        newest[n] = Some(version_from(&mut Cells::of(row))?);
        Ok(())
    })?;
    let listing = |(dataset, newest): (Dataset, Option<DatasetVersion>)| {
        let (newest, versions) = (newest?, *counts.get(&dataset.id.0)?);
        Some(DatasetListing { dataset, newest, versions })
    };
    Ok(found.into_iter().zip(newest).filter_map(listing).collect())
}

/// A version that is not ready has no rows to be seen.
fn must_be_ready(conn: &Connection, id: DatasetVersionId) -> Result<()> {
    let sql = "SELECT 1 FROM dataset_versions WHERE id = ?1 AND state = 'ready'";
    let ready: Option<i64> = conn.prepare_cached(sql)?.query_row([id.0], |row| row.get(0)).optional()?;
    match ready {
        Some(_) => Ok(()),
        None => Err(StoreError::NotFound { what: "dataset version", id: id.to_string() }.into()),
    }
}

pub(crate) fn rows(
    conn: &Connection,
    version: DatasetVersionId,
    from: i64,
    limit: usize,
    bytes: usize,
) -> Result<Vec<DatasetRow>> {
    must_be_ready(conn, version)?;
    let mut stmt = conn.prepare_cached(&ROWS)?;
    let (mut page, mut size) = (Vec::new(), 0);
    stmt.walk(params![version.0, from, limit as i64], |row| {
        let mut c = Cells::of(row);
        let row = DatasetRow { ordinal: c.get()?, key: c.key()?, body: c.json()? };
        size += row.body.as_str().len();
        if size > bytes && !page.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        page.push(row);
        Ok::<_, backend::Error>(ControlFlow::Continue(()))
    })?;
    Ok(page)
}

/// Both lists of rows are merged in the order of an index, which is passed over once.
pub(crate) fn differences(
    conn: &Connection,
    (old, new): (DatasetVersionId, DatasetVersionId),
    after: i64,
    limit: usize,
) -> Result<Vec<Difference>> {
    must_be_ready(conn, old)?;
    must_be_ready(conn, new)?;
    let mut stmt = conn.prepare_cached(BOTH)?;
    let mut changed: Vec<(i64, i64)> = Vec::new();
    let mut current: Option<(i64, i64)> = None;
    stmt.walk([old.0, new.0, after], |entry| {
        let (row, change): (i64, i64) = (entry.get(0)?, entry.get(1)?);
        match &mut current {
            Some((id, sum)) if *id == row => *sum += change,
            _ => changed.extend(current.replace((row, change)).filter(|(_, sum)| *sum != 0)),
        }
        let full = changed.len() >= limit;
        Ok::<_, backend::Error>(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if changed.len() < limit {
        changed.extend(current.filter(|(_, sum)| *sum != 0));
    }
    let ids: Vec<[Cell; 1]> = changed.iter().map(|(row, _)| [Cell::Int(*row)]).collect();
    let mut differences = Vec::with_capacity(changed.len());
    conn.query_many(&BODIES, &ids, |n, row| {
        let (mut c, (cursor, change)) = (Cells::of(row), changed[n]);
        differences.push(Difference { cursor, key: c.key()?, body: c.json()?, change });
        Ok(())
    })?;
    differences.sort_unstable_by_key(|difference| difference.cursor);
    Ok(differences)
}
