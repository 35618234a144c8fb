//! The audit log: begun before a change, ended after it, read newest first.

use windrow_model::Time;
use windrow_model::audit::{AuditEntry, AuditFilter, NewAudit, Verdict};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Row, params};
use crate::sql::cells::Cells;

const COLUMNS: &str = "id, at, actor, via, workspace, operation, resource, address, request, verdict, detail";

pub(crate) fn begin(tx: &Connection, entry: &NewAudit, now: Time) -> Result<i64> {
    let sql = "INSERT INTO audit (at, actor, via, workspace, operation, resource, address, request) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let row = params![
        now.0,
        entry.actor,
        entry.via,
        entry.workspace,
        entry.operation,
        entry.resource,
        entry.address,
        entry.request
    ];
    Ok(tx.insert(sql, row)?)
}

pub(crate) fn end(tx: &Connection, id: i64, verdict: Verdict, detail: &str) -> Result<()> {
    tx.prepare_cached("UPDATE audit SET verdict = ?2, detail = ?3 WHERE id = ?1 AND verdict IS NULL")?
        .execute(params![id, verdict.as_str(), detail])?;
    Ok(())
}

/// One statement for those of a workspace and one for all, so that each is served by its index.
pub(crate) fn page_sql(of_workspace: bool) -> String {
    let workspace = if of_workspace { "workspace = ?4 AND " } else { "" };
    format!(
        "SELECT {COLUMNS} FROM audit WHERE {workspace}id < ?1 AND (actor = ?2 OR ?2 IS NULL) \
         ORDER BY id DESC LIMIT ?3"
    )
}

pub(crate) fn page(conn: &Connection, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
    let mut stmt = conn.prepare_cached(&page_sql(filter.workspace.is_some()))?;
    let (before, limit) = (filter.before.unwrap_or(i64::MAX), filter.limit as i64);
    let found = match &filter.workspace {
        Some(workspace) => stmt.query_map(params![before, filter.actor, limit, workspace], from_row)?,
        None => stmt.query_map(params![before, filter.actor, limit], from_row)?,
    };
    Ok(found.collect::<backend::Result<_>>()?)
}

fn from_row(row: &Row) -> backend::Result<AuditEntry> {
    let mut c = Cells::of(row);
    Ok(AuditEntry {
        id: c.get()?,
        at: c.time()?,
        what: NewAudit {
            actor: c.get()?,
            via: c.get()?,
            workspace: c.get()?,
            operation: c.get()?,
            resource: c.get()?,
            address: c.get()?,
            request: c.get()?,
        },
        verdict: c.maybe_word()?,
        detail: c.get()?,
    })
}

/// Entries are numbered as they come, so that the oldest are the first; no index by time is kept for this.
pub(crate) fn forget(tx: &Connection, before: Time, limit: usize) -> Result<i64> {
    let last = "SELECT max(id) FROM (SELECT id FROM audit ORDER BY id LIMIT ?1) AS oldest";
    let last: Option<i64> = tx.prepare_cached(last)?.query_row([limit as i64], |row| row.get(0))?;
    let Some(last) = last else { return Ok(0) };
    let sql = "DELETE FROM audit WHERE id <= ?1 AND at < ?2";
    Ok(tx.prepare_cached(sql)?.execute([last, before.0])? as i64)
}
