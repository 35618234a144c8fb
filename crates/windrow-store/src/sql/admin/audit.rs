//! The audit log: begun before a change, ended after it, read newest first.

use windrow_model::Time;
use windrow_model::audit::{AuditEntry, AuditFilter, NewAudit, Verdict};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Dialect, Row, params};
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
pub(crate) fn page_sql(d: Dialect, of_workspace: bool) -> String {
    let workspace = if of_workspace { "workspace = ?8 AND " } else { "" };
    let what = d.position("lower(operation || ' ' || resource || ' ' || detail)", "?4");
    format!(
        "SELECT {COLUMNS} FROM audit WHERE {workspace}id < ?1 AND (actor = ?2 OR ?2 IS NULL) \
         AND ({what} > 0 OR ?4 IS NULL) AND (verdict = ?5 OR ?5 IS NULL) AND at >= ?6 AND at < ?7 \
         ORDER BY id DESC LIMIT ?3"
    )
}

pub(crate) fn page(conn: &Connection, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
    let AuditFilter { workspace, actor, what, verdict, since, until, before, limit } = filter;
    let mut stmt = conn.prepare_cached(&page_sql(conn.dialect(), workspace.is_some()))?;
    let what = what.as_deref().map(str::to_ascii_lowercase);
    let verdict = verdict.map(Verdict::as_str);
    let (before, limit) = (before.unwrap_or(i64::MAX), *limit as i64);
    let (since, until) = (since.map_or(i64::MIN, |at| at.0), until.map_or(i64::MAX, |at| at.0));
    let found = match workspace {
        Some(workspace) => {
            stmt.query_map(params![before, actor, limit, what, verdict, since, until, workspace], from_row)?
        }
        None => stmt.query_map(params![before, actor, limit, what, verdict, since, until], from_row)?,
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
