//! Rows of jobs and frozen definitions, as they are read.

use windrow_model::counters::{Counters, JobCounters};
use windrow_model::record::{Job, Run, Schedule};
use windrow_model::store::{JobFilter, StoreError};
use windrow_model::{JobId, Json, RunId};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, Dialect, OptionalExtension, Sql, named_params, params};
use crate::sql::cells::Cells;
use crate::sql::table::runs;

pub(crate) const COLUMNS: &str = "j.id, j.workspace, j.name, j.kind, j.state, j.labels, j.latest_run, j.schedule, \
     j.next_at, (SELECT p.pinned_at FROM pins p WHERE p.job_id = j.id), j.created_at, j.updated_at, \
     j.rest_succeeded, j.rest_failed, j.rest_cancelled, j.rest_skipped, j.rest_retries, \
     j.rolled_succeeded, j.rolled_failed, j.rolled_cancelled, j.rolled_skipped, \
     r.mode, r.total, r.queued, r.running, r.succeeded, r.failed, r.cancelled, r.skipped, r.retries";

/// Jobs with their latest run, to which [`COLUMNS`] refers.
pub(crate) fn with_latest_run(d: Dialect) -> String {
    format!("jobs j {}", d.each_by_key("runs", "r", "r.id = j.latest_run"))
}

pub(crate) static BY_ID: Sql = Sql::new(|d| format!("SELECT {COLUMNS} FROM {} WHERE j.id = ?1", with_latest_run(d)));
pub(crate) static BY_NAME: Sql =
    Sql::new(|d| format!("SELECT {COLUMNS} FROM {} WHERE j.workspace = ?1 AND j.name = ?2", with_latest_run(d)));
pub(crate) static PAGE: Sql = Sql::new(|d| {
    format!(
        "SELECT {COLUMNS}, {} FROM {}
         WHERE j.id < :before
           AND (j.workspace = :workspace OR :workspace IS NULL)
           AND (j.kind = :kind OR :kind IS NULL)
           AND ({} > 0 OR :states IS NULL)
           AND ({} > 0 OR :part IS NULL)
           AND (NOT :scheduled OR j.schedule IS NOT NULL)
         ORDER BY j.id DESC LIMIT :limit",
        runs::COLUMNS,
        with_latest_run(d),
        d.position(":states", "',' || r.state || ','"),
        d.position("j.name", ":part")
    )
});

pub(crate) fn from_cells(c: &mut Cells) -> backend::Result<Job> {
    let mut job = Job {
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
        counters: rest(c)?,
    };
    let (mode, latest) = (c.word()?, c.counters()?);
    job.counters.add(mode, latest);
    Ok(job)
}

/// Items that belong to earlier runs than the latest. They are settled: only one run of a job is active.
fn rest(c: &mut Cells) -> backend::Result<JobCounters> {
    let of = |[succeeded, failed, cancelled, skipped]: [i64; 4], retries| {
        let total = succeeded + failed + cancelled + skipped;
        Counters { total, succeeded, failed, cancelled, skipped, retries, ..Counters::default() }
    };
    let (all, retries) = (settled(c)?, c.get()?);
    Ok(JobCounters { all: of(all, retries), rolled_back: of(settled(c)?, 0) })
}

fn settled(c: &mut Cells) -> backend::Result<[i64; 4]> {
    Ok([c.get()?, c.get()?, c.get()?, c.get()?])
}

/// Adds `by`, whose fields may be negative, to what belongs to earlier runs.
pub(crate) fn move_rest(tx: &Connection, job: JobId, by: &JobCounters) -> Result<()> {
    if *by == JobCounters::default() {
        return Ok(());
    }
    let mut stmt = tx.prepare_cached(
        "UPDATE jobs SET rest_succeeded = rest_succeeded + ?2, rest_failed = rest_failed + ?3, \
         rest_cancelled = rest_cancelled + ?4, rest_skipped = rest_skipped + ?5, rest_retries = rest_retries + ?6, \
         rolled_succeeded = rolled_succeeded + ?7, rolled_failed = rolled_failed + ?8, \
         rolled_cancelled = rolled_cancelled + ?9, rolled_skipped = rolled_skipped + ?10 WHERE id = ?1",
    )?;
    let JobCounters { all, rolled_back: rolled } = by;
    let changed = stmt.execute([
        job.0,
        all.succeeded,
        all.failed,
        all.cancelled,
        all.skipped,
        all.retries,
        rolled.succeeded,
        rolled.failed,
        rolled.cancelled,
        rolled.skipped,
    ])?;
    expect_rows(changed, 1, "counters of a job")
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
    let mut filter = filter.clone();
    let mut found = Vec::new();
    // The states of a status narrow the query; what a job reads depends on its counters, too. Labels are read here.
    loop {
        let wanted = filter.limit - found.len();
        let page = page(conn, &filter)?;
        let sieved = filter.status.is_some() || !filter.labels.is_empty();
        let more = page.len() == filter.limit && sieved;
        filter.before = page.last().map(|(job, _)| job.id);
        let fits = |(job, run): &(Job, Run)| {
            filter.labels.fits_job(&job.labels) && filter.status.as_ref().is_none_or(|word| word.fits(job, run))
        };
        found.extend(page.into_iter().filter(fits).take(wanted));
        if found.len() == filter.limit || !more {
            return Ok(found);
        }
    }
}

fn page(conn: &Connection, filter: &JobFilter) -> Result<Vec<(Job, Run)>> {
    let mut stmt = conn.prepare_cached(&PAGE)?;
    let states = filter.status.as_ref().map(|word| {
        let states: Vec<&str> = word.states().iter().map(|state| state.as_str()).collect();
        format!(",{},", states.join(","))
    });
    let wanted = named_params! {
        ":before": filter.before.map_or(i64::MAX, |before| before.0),
        ":workspace": filter.workspace,
        ":kind": filter.kind,
        ":states": states,
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
