//! Rows of jobs and frozen definitions, as they are read.

use windrow_model::record::{Job, Run, Schedule};
use windrow_model::store::{JobFilter, StoreError};
use windrow_model::{JobId, Json, RunId};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, OptionalExtension, Sql, named_params, params};
use crate::sql::cells::Cells;
use crate::sql::table::runs;

pub(crate) const COLUMNS: &str = "j.id, j.workspace, j.name, j.kind, j.state, j.labels, j.latest_run, j.schedule, \
     j.next_at, (SELECT p.pinned_at FROM pins p WHERE p.job_id = j.id), j.created_at, j.updated_at";

pub(crate) static BY_ID: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM jobs j WHERE j.id = ?1"));
pub(crate) static BY_NAME: Sql =
    Sql::new(|_| format!("SELECT {COLUMNS} FROM jobs j WHERE j.workspace = ?1 AND j.name = ?2"));
pub(crate) static PAGE: Sql = Sql::new(|d| {
    format!(
        "SELECT {COLUMNS}, {} FROM jobs j {}
         WHERE j.id < :before
           AND (j.workspace = :workspace OR :workspace IS NULL)
           AND (j.kind = :kind OR :kind IS NULL)
           AND (r.state = :state OR :state IS NULL)
           AND ({} > 0 OR :part IS NULL)
           AND (NOT :scheduled OR j.schedule IS NOT NULL)
         ORDER BY j.id DESC LIMIT :limit",
        runs::COLUMNS,
        d.each_by_key("runs", "r", "r.id = j.latest_run"),
        d.position("j.name", ":part")
    )
});

pub(crate) fn from_cells(c: &mut Cells) -> backend::Result<Job> {
    Ok(Job {
        id: JobId(c.get()?),
        workspace: c.get()?,
        name: c.get()?,
        kind: c.get()?,
        state: c.word()?,
        labels: c.parsed(Json::parse)?,
        latest_run: RunId(c.get()?),
        schedule: schedule(c)?,
        pinned_at: c.maybe_time()?,
        created_at: c.time()?,
        updated_at: c.time()?,
    })
}

fn schedule(c: &mut Cells) -> backend::Result<Option<Schedule>> {
    let (cron, next_at) = (c.get::<Option<String>>()?, c.maybe_time()?);
    Ok(cron.map(|cron| Schedule { cron, next_at }))
}

pub(crate) fn job(conn: &Connection, id: JobId) -> Result<Job> {
    let found = conn.prepare_cached(&BY_ID)?.query_row([id.0], |row| from_cells(&mut Cells::of(row))).optional()?;
    Ok(found.ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?)
}

pub(crate) fn find_job(conn: &Connection, workspace: &str, name: &str) -> Result<Option<Job>> {
    let mut stmt = conn.prepare_cached(&BY_NAME)?;
    Ok(stmt.query_row(params![workspace, name], |row| from_cells(&mut Cells::of(row))).optional()?)
}

pub(crate) fn jobs(conn: &Connection, filter: &JobFilter) -> Result<Vec<(Job, Run)>> {
    let mut stmt = conn.prepare_cached(&PAGE)?;
    let wanted = named_params! {
        ":before": filter.before.map_or(i64::MAX, |before| before.0),
        ":workspace": filter.workspace,
        ":kind": filter.kind,
        ":state": filter.state.map(|state| state.as_str()),
        ":part": filter.name_contains,
        ":scheduled": filter.scheduled,
        ":limit": filter.limit as i64,
    };
    let found = stmt.query_map(wanted, |row| {
        let mut c = Cells::of(row);
        Ok((from_cells(&mut c)?, runs::from_cells(&mut c)?))
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn spec(conn: &Connection, hash: &str) -> Result<Json> {
    let mut stmt = conn.prepare_cached("SELECT body FROM specs WHERE hash = ?1")?;
    let found = stmt.query_row([hash], |row| Cells::of(row).json()).optional()?;
    Ok(found.ok_or_else(|| StoreError::NotFound { what: "definition", id: hash.to_owned() })?)
}
