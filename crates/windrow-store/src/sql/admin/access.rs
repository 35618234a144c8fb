//! API keys.

use windrow_model::access::{ApiKey, KeyDigest};
use windrow_model::store::StoreError;
use windrow_model::{KeyId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, NewRows, OptionalExtension, Row, Sql, params};
use crate::sql::cells::Cells;

const COLUMNS: &str = "id, name, role, workspace, digest, created_by, created_at, expires_at, revoked_at, used_at";
pub(crate) static ALL: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM api_keys ORDER BY id"));
pub(crate) static BY_ID: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM api_keys WHERE id = ?1"));
pub(crate) static ADD: NewRows = NewRows::new("api_keys", COLUMNS, "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, NULL");

pub(crate) fn has_keys(conn: &Connection) -> Result<bool> {
    Ok(conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM api_keys)")?.query_row((), |row| row.get(0))?)
}

pub(crate) fn keys(conn: &Connection) -> Result<Vec<ApiKey>> {
    let mut stmt = conn.prepare_cached(&ALL)?;
    Ok(stmt.query_map((), from_row)?.collect::<backend::Result<_>>()?)
}

pub(crate) fn note_use(tx: &Connection, id: KeyId, at: Time) -> Result<()> {
    tx.prepare_cached("UPDATE api_keys SET used_at = ?2 WHERE id = ?1")?.execute([id.0, at.0])?;
    Ok(())
}

fn from_row(row: &Row) -> backend::Result<ApiKey> {
    let mut c = Cells::of(row);
    Ok(ApiKey {
        id: KeyId(c.get()?),
        name: c.get()?,
        role: c.word()?,
        workspace: c.get()?,
        digest: KeyDigest(c.get()?),
        created_by: c.get()?,
        created_at: c.time()?,
        expires_at: c.maybe_time()?,
        revoked_at: c.maybe_time()?,
        used_at: c.maybe_time()?,
    })
}

pub(crate) fn find(conn: &Connection, id: KeyId) -> Result<Option<ApiKey>> {
    let mut stmt = conn.prepare_cached(&BY_ID)?;
    Ok(stmt.query_row([id.0], from_row).optional()?)
}

pub(crate) fn add(tx: &Connection, key: &ApiKey) -> Result<()> {
    let taken = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM api_keys WHERE name = ?1 AND revoked_at IS NULL)")?
        .query_row([&key.name], |row| row.get(0))?;
    if taken {
        return Err(StoreError::NameTaken { what: "a key", name: key.name.clone() }.into());
    }
    tx.prepare_cached(&ADD)?.execute(params![
        key.id.0,
        key.name,
        key.role.as_str(),
        key.workspace,
        key.digest.0,
        key.created_by,
        key.created_at.0,
        key.expires_at.map(|at| at.0),
    ])?;
    Ok(())
}

pub(crate) fn revoke(tx: &Connection, id: KeyId, now: Time) -> Result<ApiKey> {
    tx.prepare_cached("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL")?
        .execute([id.0, now.0])?;
    Ok(find(tx, id)?.ok_or_else(|| StoreError::NotFound { what: "key", id: id.to_string() })?)
}
