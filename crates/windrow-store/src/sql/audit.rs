//! The audit log: begun before a change, ended after it, read newest first.

use async_trait::async_trait;
use windrow_model::Time;
use windrow_model::audit::{AuditEntry, AuditFilter, AuditLog, NewAudit, Verdict};
use windrow_model::store;

use super::SqlStore;
use super::cells::Cells;
use super::db::{self, Connection, Row, params};
use super::fault::Result;

const COLUMNS: &str = "id, at, actor, via, workspace, operation, resource, address, request, verdict, detail";

#[async_trait]
impl AuditLog for SqlStore {
    async fn begin_audit(&self, entry: NewAudit, now: Time) -> store::Result<i64> {
        self.write("begin_audit", move |tx| begin(tx, &entry, now)).await
    }

    async fn end_audit(&self, id: i64, verdict: Verdict, detail: &str) -> store::Result<()> {
        let detail = detail.to_owned();
        self.write("end_audit", move |tx| {
            tx.prepare_cached("UPDATE audit SET verdict = ?2, detail = ?3 WHERE id = ?1 AND verdict IS NULL")?
                .execute(params![id, verdict.as_str(), detail])?;
            Ok(())
        })
        .await
    }

    async fn audit(&self, filter: AuditFilter) -> store::Result<Vec<AuditEntry>> {
        self.read("audit", move |conn| page(conn, &filter)).await
    }

    async fn forget_audit(&self, before: Time, limit: usize) -> store::Result<i64> {
        self.write("forget_audit", move |tx| forget(tx, before, limit)).await
    }
}

fn begin(tx: &Connection, entry: &NewAudit, now: Time) -> Result<i64> {
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

/// One statement for those of a workspace and one for all, so that each is served by its index.
pub(crate) fn page_sql(of_workspace: bool) -> String {
    let workspace = if of_workspace { "workspace = ?4 AND " } else { "" };
    format!(
        "SELECT {COLUMNS} FROM audit WHERE {workspace}id < ?1 AND (actor = ?2 OR ?2 IS NULL) \
         ORDER BY id DESC LIMIT ?3"
    )
}

fn page(conn: &Connection, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
    let mut stmt = conn.prepare_cached(&page_sql(filter.workspace.is_some()))?;
    let (before, limit) = (filter.before.unwrap_or(i64::MAX), filter.limit as i64);
    let found = match &filter.workspace {
        Some(workspace) => stmt.query_map(params![before, filter.actor, limit, workspace], from_row)?,
        None => stmt.query_map(params![before, filter.actor, limit], from_row)?,
    };
    Ok(found.collect::<db::Result<_>>()?)
}

fn from_row(row: &Row) -> db::Result<AuditEntry> {
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
fn forget(tx: &Connection, before: Time, limit: usize) -> Result<i64> {
    let last = "SELECT max(id) FROM (SELECT id FROM audit ORDER BY id LIMIT ?1) AS oldest";
    let last: Option<i64> = tx.prepare_cached(last)?.query_row([limit as i64], |row| row.get(0))?;
    let Some(last) = last else { return Ok(0) };
    let sql = "DELETE FROM audit WHERE id <= ?1 AND at < ?2";
    Ok(tx.prepare_cached(sql)?.execute([last, before.0])? as i64)
}
