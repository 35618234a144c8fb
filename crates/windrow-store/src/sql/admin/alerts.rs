//! Alerts: rows that are raised, cleared and in the end forgotten.

use windrow_model::alert::{Acknowledged, Alert};
use windrow_model::{AlertId, JobId, RunId, Time};

use crate::backend::{self, Connection, OptionalExtension, Params, Sql, failure, params};
use crate::sql::cells::Cells;
use crate::sql::lock;

const COLUMNS: &str = "id, rule, severity, subject, workspace, job_id, run_id, value, threshold, message, raised_at, \
     cleared_at, acknowledged_at, acknowledged_by";
pub(crate) static ACTIVE: Sql =
    Sql::new(|_| format!("SELECT {COLUMNS} FROM alerts WHERE cleared_at IS NULL AND id > ?1 ORDER BY id"));
pub(crate) static RECENT: Sql =
    Sql::new(|_| format!("SELECT {COLUMNS} FROM alerts WHERE id < ?1 ORDER BY id DESC LIMIT ?2"));
pub(crate) static ONE: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM alerts WHERE id = ?1"));
pub(crate) static RAISE: Sql = Sql::new(|d| {
    let places = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14";
    format!("INSERT INTO alerts ({COLUMNS}) VALUES ({places}){}", d.or_ignore("id"))
});

pub(crate) const RAISED: &str = "SELECT id FROM alerts WHERE cleared_at IS NULL AND rule = ?1 AND subject = ?2";

pub(crate) fn raise(tx: &Connection, alert: &Alert) -> failure::Result<bool> {
    lock::named(tx, lock::ALERTS)?;
    let subject = params![alert.rule, alert.subject];
    let raised: Option<i64> = tx.prepare_cached(RAISED)?.query_row(subject, |row| row.get(0)).optional()?;
    if let Some(raised) = raised {
        return Ok(raised == alert.id.0);
    }
    let inserted = tx.prepare_cached(&RAISE)?.execute(params![
        alert.id.0,
        alert.rule,
        alert.severity.as_str(),
        alert.subject,
        alert.workspace,
        alert.job.map(|job| job.0),
        alert.run.map(|run| run.0),
        alert.value,
        alert.threshold,
        alert.message,
        alert.raised_at.0,
        alert.cleared_at.map(|at| at.0),
        alert.acknowledged.as_ref().map(|seen| seen.at.0),
        alert.acknowledged.as_ref().map(|seen| &*seen.by),
    ])?;
    Ok(inserted > 0)
}

pub(crate) fn clear(tx: &Connection, rule: &str, subject: &str, now: Time) -> failure::Result<bool> {
    let sql = "UPDATE alerts SET cleared_at = ?3 WHERE rule = ?1 AND subject = ?2 AND cleared_at IS NULL";
    tx.prepare_cached(sql)?.execute(params![rule, subject, now.0])?;
    let cleared = "SELECT count(*) FROM alerts WHERE rule = ?1 AND subject = ?2 AND cleared_at = ?3";
    let cleared: i64 = tx.prepare_cached(cleared)?.query_row(params![rule, subject, now.0], |row| row.get(0))?;
    Ok(cleared > 0)
}

pub(crate) const ACKNOWLEDGE: &str =
    "UPDATE alerts SET acknowledged_at = ?2, acknowledged_by = ?3 WHERE id = ?1 AND acknowledged_at IS NULL";

pub(crate) fn acknowledge(tx: &Connection, id: AlertId, actor: &str, now: Time) -> failure::Result<Option<Alert>> {
    tx.prepare_cached(ACKNOWLEDGE)?.execute(params![id.0, now.0, actor])?;
    Ok(list(tx, &ONE, [id.0])?.pop())
}

pub(crate) fn forget(tx: &Connection, keep: usize) -> failure::Result<i64> {
    let sql = "DELETE FROM alerts WHERE cleared_at IS NOT NULL AND id <= \
         (SELECT id FROM (SELECT id FROM alerts WHERE cleared_at IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?1) AS old)";
    Ok(tx.prepare_cached(sql)?.execute([keep as i64])? as i64)
}

pub(crate) fn list(conn: &Connection, sql: &Sql, params: impl Params) -> failure::Result<Vec<Alert>> {
    let mut stmt = conn.prepare_cached(sql)?;
    let found = stmt.query_map(params, |row| {
        let mut c = Cells::of(row);
        Ok(Alert {
            id: AlertId(c.get()?),
            rule: c.get()?,
            severity: c.word()?,
            subject: c.get()?,
            workspace: c.get()?,
            job: c.get::<Option<i64>>()?.map(JobId),
            run: c.get::<Option<i64>>()?.map(RunId),
            value: c.get()?,
            threshold: c.get()?,
            message: c.get()?,
            raised_at: c.time()?,
            cleared_at: c.maybe_time()?,
            acknowledged: acknowledged(&mut c)?,
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

fn acknowledged(c: &mut Cells) -> backend::Result<Option<Acknowledged>> {
    let (at, by) = (c.maybe_time()?, c.get::<Option<String>>()?);
    Ok(at.map(|at| Acknowledged { at, by: by.unwrap_or_default() }))
}
