//! An import: a draft version that is begun, filled and made ready. A batch is one transaction; the
//! version becomes visible by the last one, which touches none of its rows.

use std::collections::{HashMap, HashSet};

use windrow_model::dataset::{Dataset, Digest, Imported, NewImport, NewRow};
use windrow_model::step::ContentKey;
use windrow_model::store::StoreError;
use windrow_model::{DatasetId, DatasetVersionId, Json, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Connection, Lookup, NewRows, OptionalExtension, params};
use crate::sql::admin::{dataset_drop, dataset_read};

pub(crate) const DRAFT_OF: &str = "SELECT id FROM dataset_versions WHERE dataset_id = ?1 AND state = 'draft'";
pub(crate) static ROW_BY_KEY: Lookup = Lookup::new("id", "dataset_rows", "dataset_id = ?1 AND key = ?2", "");
pub(crate) static ENTRIES: NewRows = NewRows::new("dataset_entries", "version_id, ordinal, row_id", "?1, ?2, ?3");
pub(crate) static ROWS: NewRows = NewRows::new("dataset_rows", "dataset_id, key, body", "?1, ?2, ?3");

pub(crate) fn begin_import(tx: &Connection, import: &NewImport, now: Time) -> Result<()> {
    let id = match dataset_read::by_name(tx, &import.workspace, &import.name)? {
        Some(Dataset { id, .. }) => id,
        None => {
            let sql = "INSERT INTO datasets (id, workspace, name, created_at) VALUES (?1, ?2, ?3, ?4)";
            tx.prepare_cached(sql)?.execute(params![import.dataset.0, import.workspace, import.name, now.0])?;
            import.dataset
        }
    };
    let draft: Option<i64> = tx.prepare_cached(DRAFT_OF)?.query_row([id.0], |row| row.get(0)).optional()?;
    if let Some(draft) = draft {
        dataset_drop::mark(tx, DatasetVersionId(draft))?;
    }
    let schema = import.schema.as_ref().map(Json::as_str);
    tx.prepare_cached(
        "INSERT INTO dataset_versions (id, dataset_id, state, digest, schema, source, actor, created_at)
         VALUES (?1, ?2, 'draft', ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![import.version.0, id.0, Digest::default().0, schema, import.source, import.actor, now.0])?;
    Ok(())
}

struct Draft {
    dataset: DatasetId,
    rows: i64,
    bytes: i64,
    digest: Digest,
}

fn draft(tx: &Connection, version: DatasetVersionId) -> Result<Draft> {
    let sql = "SELECT dataset_id, rows, bytes, digest FROM dataset_versions WHERE id = ?1 AND state = 'draft'";
    let found = tx.prepare_cached(sql)?.query_row([version.0], |row| {
        let (dataset, digest) = (DatasetId(row.get(0)?), Digest(row.get(3)?));
        Ok(Draft { dataset, rows: row.get(1)?, bytes: row.get(2)?, digest })
    });
    Ok(found.optional()?.ok_or(StoreError::StaleImport)?)
}

pub(crate) fn import_rows(tx: &Connection, version: DatasetVersionId, from: i64, rows: &[NewRow]) -> Result<()> {
    tx.lock("dataset_versions", [version.0])?;
    let mut draft = draft(tx, version)?;
    // What is swept away meanwhile must not be what is found here.
    tx.lock("datasets", [draft.dataset.0])?;
    if from != draft.rows {
        // The answer to this batch was lost, and it is sent again.
        let known = from + rows.len() as i64 <= draft.rows;
        return if known { Ok(()) } else { Err(StoreError::StaleImport.into()) };
    }
    let ids = row_ids(tx, draft.dataset, rows)?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        entries.push([version.0, draft.rows, ids[&row.key]].map(Cell::Int));
        draft.rows += 1;
        draft.bytes += row.body.as_str().len() as i64;
        draft.digest.add(&row.key);
    }
    expect_rows(tx.execute_many(&ENTRIES, &entries)?, entries.len(), "entries of a dataset")?;
    let sql = "UPDATE dataset_versions SET rows = ?2, bytes = ?3, digest = ?4 WHERE id = ?1";
    let changed = tx.prepare_cached(sql)?.execute(params![version.0, draft.rows, draft.bytes, draft.digest.0])?;
    expect_rows(changed, 1, "importing rows")
}

/// The rows' ids by their keys. Those that the dataset does not have are added, in the order in which they come.
fn row_ids<'tx>(tx: &Connection, dataset: DatasetId, rows: &'tx [NewRow]) -> Result<HashMap<ContentKey, i64>> {
    let mut ids = HashMap::with_capacity(rows.len());
    find_rows(tx, dataset, &rows.iter().collect::<Vec<_>>(), &mut ids)?;
    let mut seen = HashSet::new();
    let new: Vec<&NewRow> = rows.iter().filter(|row| !ids.contains_key(&row.key) && seen.insert(row.key)).collect();
    let row = |row: &&'tx NewRow| [Cell::Int(dataset.0), Cell::Blob(&row.key.0), Cell::Text(row.body.as_str())];
    let added: Vec<[Cell; 3]> = new.iter().map(row).collect();
    expect_rows(tx.execute_many(&ROWS, &added)?, added.len(), "rows of a dataset")?;
    find_rows(tx, dataset, &new, &mut ids)?;
    Ok(ids)
}

fn find_rows(tx: &Connection, dataset: DatasetId, rows: &[&NewRow], ids: &mut HashMap<ContentKey, i64>) -> Result<()> {
    let keys: Vec<[Cell; 2]> = rows.iter().map(|row| [Cell::Int(dataset.0), Cell::Blob(&row.key.0)]).collect();
    Ok(tx.query_many(&ROW_BY_KEY, &keys, |n, row| {
        ids.insert(rows[n].key, row.get(0)?);
        Ok(())
    })?)
}

pub(crate) fn finish_import(tx: &Connection, id: DatasetVersionId, profile: &Json, now: Time) -> Result<Imported> {
    tx.lock("dataset_versions", [id.0])?;
    let dataset = draft(tx, id)?.dataset;
    tx.lock("datasets", [dataset.0])?;
    let mut version = dataset_read::version(tx, id)?;
    let newest = dataset_read::versions(tx, dataset, 1)?.pop();
    let same = newest.filter(|newest| {
        (newest.rows, newest.digest, &newest.schema) == (version.rows, version.digest, &version.schema)
    });
    if let Some(newest) = same {
        dataset_drop::mark(tx, id)?;
        return Ok(Imported { version: newest, unchanged: true });
    }
    tx.prepare_cached("UPDATE datasets SET last_version = last_version + 1 WHERE id = ?1")?.execute([dataset.0])?;
    let sql = "SELECT last_version FROM datasets WHERE id = ?1";
    version.version = tx.prepare_cached(sql)?.query_row([dataset.0], |row| row.get(0))?;
    version.profile = profile.clone();
    version.created_at = now;
    let sql = "UPDATE dataset_versions SET state = 'ready', version = ?2, profile = ?3, created_at = ?4
               WHERE id = ?1 AND state = 'draft'";
    let changed = tx.prepare_cached(sql)?.execute(params![id.0, version.version, profile.as_str(), now.0])?;
    expect_rows(changed, 1, "finishing an import")?;
    Ok(Imported { version, unchanged: false })
}
