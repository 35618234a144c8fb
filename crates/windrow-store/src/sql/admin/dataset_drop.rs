//! Dropping a version makes it disappear; sweeping deletes what it had, a bounded number of rows at a
//! time, and keeps the rows that another version of the dataset has too.

use std::collections::BTreeSet;

use windrow_model::DatasetVersionId;
use windrow_model::store::StoreError;

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Change, Connection, OptionalExtension, params};

pub(crate) const DROPPED: &str =
    "SELECT id, dataset_id FROM dataset_versions WHERE state = 'dropped' ORDER BY id LIMIT 1";
pub(crate) const ENTRIES: &str =
    "SELECT ordinal, row_id FROM dataset_entries WHERE version_id = ?1 ORDER BY ordinal LIMIT ?2";
pub(crate) static DELETE_UNUSED: Change = Change::delete_written("dataset_rows", |d| {
    let entries = d.each("dataset_entries", "e", "e.version_id = v.id AND e.row_id = ?1");
    let used = format!("SELECT 1 FROM dataset_versions v {entries} WHERE v.dataset_id = ?2");
    [String::new(), format!("id = ?1 AND NOT EXISTS ({used})")]
});
const DELETE_EMPTY: &str = "DELETE FROM datasets WHERE id = (SELECT dataset_id FROM dataset_versions WHERE id = ?1)
    AND NOT EXISTS (SELECT 1 FROM dataset_versions v WHERE v.dataset_id = datasets.id AND v.state <> 'dropped')";

pub(crate) fn drop_version(tx: &Connection, version: DatasetVersionId) -> Result<()> {
    mark(tx, version)?;
    tx.prepare_cached(DELETE_EMPTY)?.execute([version.0])?;
    Ok(())
}

/// As [`drop_version`], for a dataset that has other versions.
pub(crate) fn mark(tx: &Connection, version: DatasetVersionId) -> Result<()> {
    let sql = "UPDATE dataset_versions SET state = 'dropped' WHERE id = ?1 AND state <> 'dropped'";
    if tx.prepare_cached(sql)?.execute([version.0])? == 0 {
        return Err(StoreError::NotFound { what: "dataset version", id: version.to_string() }.into());
    }
    Ok(())
}

pub(crate) fn sweep(tx: &Connection, limit: usize) -> Result<i64> {
    let dropped = tx.prepare_cached(DROPPED)?.query_row((), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((version, dataset)): Option<(i64, i64)> = dropped else { return Ok(0) };
    tx.lock("datasets", [dataset])?;
    let mut stmt = tx.prepare_cached(ENTRIES)?;
    let page = stmt.query_map(params![version, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let page: Vec<(i64, i64)> = page.collect::<backend::Result<_>>()?;
    if let Some((last, _)) = page.last() {
        let sql = "DELETE FROM dataset_entries WHERE version_id = ?1 AND ordinal <= ?2";
        tx.prepare_cached(sql)?.execute([version, *last])?;
    }
    // A row may be there twice.
    let rows: BTreeSet<i64> = page.iter().map(|(_, row)| *row).collect();
    tx.execute_many(&DELETE_UNUSED, &rows.iter().map(|row| [*row, dataset].map(Cell::Int)).collect::<Vec<_>>())?;
    if page.len() < limit {
        tx.prepare_cached("DELETE FROM dataset_versions WHERE id = ?1")?.execute([version])?;
        // The version itself counts, so that one without rows is work done too.
        return Ok(page.len() as i64 + 1);
    }
    Ok(page.len() as i64)
}
