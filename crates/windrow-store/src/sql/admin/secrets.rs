//! Secrets: encrypted rows in, encrypted rows out.

use windrow_model::secret::{Resealed, SealedSecret, SecretListing};
use windrow_model::store::StoreError;

use crate::backend::{self, Cell, Change, Connection, Lookup, NewRows, OptionalExtension, Row, Sql, failure, params};
use crate::sql::cells::Cells;
use crate::sql::lock;

pub(crate) static NONCE: Lookup = Lookup::new("nonce", "secrets", "workspace = ?1 AND name = ?2", "");
pub(crate) static RESEAL: Change =
    Change::update("secrets", "key_id = ?3, nonce = ?4, sealed = ?5", "workspace = ?1 AND name = ?2");
const SEALED: &str = "SELECT workspace, name, key_id, nonce, sealed, actor, set_at FROM secrets";
pub(crate) static BY_NAME: Sql = Sql::new(|_| format!("{SEALED} WHERE workspace = ?1 AND name = ?2"));
pub(crate) static ALL: Sql = Sql::new(|_| format!("{SEALED} ORDER BY workspace, name"));

pub(crate) static PUT: NewRows = NewRows::new(
    "secrets",
    "workspace, name, key_id, nonce, sealed, actor, created_at, set_at",
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7",
)
.or_replace("workspace, name", &["key_id", "nonce", "sealed", "actor", "set_at"]);

pub(crate) fn put(tx: &Connection, secret: &SealedSecret) -> failure::Result<bool> {
    lock::named(tx, lock::SECRETS)?;
    let known = find(tx, &secret.workspace, &secret.name)?.is_some();
    tx.prepare_cached(&PUT)?.execute(params![
        secret.workspace,
        secret.name,
        secret.key_id,
        secret.nonce,
        secret.sealed,
        secret.actor,
        secret.set_at.0,
    ])?;
    Ok(!known)
}

pub(crate) fn find(conn: &Connection, workspace: &str, name: &str) -> failure::Result<Option<SealedSecret>> {
    let mut stmt = conn.prepare_cached(&BY_NAME)?;
    Ok(stmt.query_row([workspace, name], sealed).optional()?)
}

pub(crate) fn all(conn: &Connection) -> failure::Result<Vec<SealedSecret>> {
    let mut stmt = conn.prepare_cached(&ALL)?;
    Ok(stmt.query_map((), sealed)?.collect::<backend::Result<_>>()?)
}

fn sealed(row: &Row) -> backend::Result<SealedSecret> {
    let mut c = Cells::of(row);
    Ok(SealedSecret {
        workspace: c.get()?,
        name: c.get()?,
        key_id: c.get()?,
        nonce: c.get()?,
        sealed: c.get()?,
        actor: c.get()?,
        set_at: c.time()?,
    })
}

pub(crate) fn list(conn: &Connection, workspace: &str) -> failure::Result<Vec<SecretListing>> {
    let mut stmt = conn.prepare_cached(
        "SELECT workspace, name, key_id, actor, created_at, set_at FROM secrets WHERE workspace = ?1 ORDER BY name",
    )?;
    let found = stmt.query_map([workspace], |row| {
        let mut c = Cells::of(row);
        Ok(SecretListing {
            workspace: c.get()?,
            name: c.get()?,
            key_id: c.get()?,
            actor: c.get()?,
            created_at: c.time()?,
            set_at: c.time()?,
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn delete(tx: &Connection, workspace: &str, name: &str) -> failure::Result<()> {
    let sql = "DELETE FROM secrets WHERE workspace = ?1 AND name = ?2";
    match tx.prepare_cached(sql)?.execute([workspace, name])? {
        0 => Err(StoreError::NotFound { what: "secret", id: name.to_owned() }.into()),
        _ => Ok(()),
    }
}

pub(crate) fn keys(conn: &Connection) -> failure::Result<Vec<(String, i64)>> {
    let mut stmt = conn.prepare_cached("SELECT key_id, count(*) FROM secrets GROUP BY key_id ORDER BY key_id")?;
    let found = stmt.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn reseal<'tx>(tx: &Connection, resealed: &'tx [Resealed]) -> failure::Result<bool> {
    lock::named(tx, lock::SECRETS)?;
    // Checked before anything is written: a rejection leaves nothing behind.
    let name = |of: &'tx Resealed| [Cell::Text(&of.new.workspace), Cell::Text(&of.new.name)];
    let names: Vec<[Cell; 2]> = resealed.iter().map(name).collect();
    let mut unchanged = 0;
    tx.query_many(&NONCE, &names, |n, row| {
        unchanged += usize::from(row.get::<Vec<u8>>(0)? == resealed[n].old_nonce);
        Ok(())
    })?;
    if unchanged < resealed.len() {
        return Ok(false);
    }
    let row = |of: &'tx Resealed| {
        let ([workspace, name], new) = (name(of), &of.new);
        [workspace, name, Cell::Text(&new.key_id), Cell::Blob(&new.nonce), Cell::Blob(&new.sealed)]
    };
    tx.execute_many(&RESEAL, &resealed.iter().map(row).collect::<Vec<_>>())?;
    Ok(true)
}
