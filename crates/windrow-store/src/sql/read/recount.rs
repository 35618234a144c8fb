//! Recount: the counters as the rows say they should be. No index holds finished attempts by run: they are found among the
//! tries of the job's items, which lie together in one range if the job was planned at a stretch.

use windrow_model::counters::{Counters, JobCounters};
use windrow_model::state::{AttemptState, ItemState, Mode, Outcome};
use windrow_model::{ItemId, JobId, RunId};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Row, Sql};
use crate::sql::cells::Cells;
use crate::sql::codes::{attempts_per_item, code, in_states};
use crate::sql::table::runs;

/// The tries of item `i`, for a join.
pub(crate) fn tries_of_item() -> String {
    let per_item = attempts_per_item();
    format!("a.id > i.id * {per_item} AND a.id <= i.id * {per_item} + i.tries")
}

/// With this many items of other jobs per item of the job, a range is not read as a whole.
const SPARSE: i64 = 4;

fn tallies() -> String {
    use AttemptState::*;
    let over = |outcome: Outcome| format!("a.{} AND a.outcome = {}", in_states(&[Resulted]), code(outcome));
    let tallies: Vec<String> = [
        "a.retries + a.losses + a.throttled = 0".to_owned(),
        format!("a.{}", in_states(&[Queued, Blocked])),
        format!("a.{}", in_states(&[Running, Logged])),
        over(Outcome::Succeeded),
        over(Outcome::Failed),
        over(Outcome::Cancelled),
        over(Outcome::Skipped),
        format!("({}) OR ({})", over(Outcome::Retried), over(Outcome::Lost)),
    ]
    .iter()
    .map(|condition| format!("count(CASE WHEN {condition} THEN 1 END)"))
    .collect();
    tallies.join(", ")
}

/// Item by item.
pub(crate) static RECOUNT: Sql = Sql::new(|d| {
    let (tallies, tries) = (tallies(), d.each_by_key("attempts", "a", &tries_of_item()));
    format!("SELECT {tallies} FROM items i {tries} WHERE i.job_id = ?1 AND a.run_id = ?2")
});

/// All tries of a range of items, which is ten times as fast.
pub(crate) static RECOUNT_RANGE: Sql = Sql::new(|_| {
    // Hidden from indexes that begin with the run: what is over would be sought in those for what is live.
    format!("SELECT {} FROM attempts a WHERE a.id BETWEEN ?1 AND ?2 AND 0 + a.run_id = ?3", tallies())
});

const RANGE: &str = "SELECT (SELECT min(id) FROM items WHERE job_id = ?1), (SELECT max(id) FROM items WHERE job_id = ?1), \
     next_ordinal FROM jobs WHERE id = ?1";

pub(crate) fn recount(conn: &Connection, run: RunId) -> Result<Counters> {
    let run = runs::run(conn, run)?;
    let counters = |row: &Row| Cells::of(row).counters();
    let (first, last, items) = conn.prepare_cached(RANGE)?.query_row([run.job.0], |row| {
        Ok((row.get::<Option<i64>>(0)?, row.get::<Option<i64>>(1)?, row.get::<i64>(2)?))
    })?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(Counters::default()) };
    if last - first > items * SPARSE {
        return Ok(conn.prepare_cached(&RECOUNT)?.query_row([run.job.0, run.id.0], counters)?);
    }
    let (first, last) = (ItemId(first).attempts().0.0, ItemId(last).attempts().1.0);
    Ok(conn.prepare_cached(&RECOUNT_RANGE)?.query_row([first, last, run.id.0], counters)?)
}

/// The current items of a job by their state, that of their attempt, and the mode of the run that executed them last.
pub(crate) static RECOUNT_JOB: Sql = Sql::new(|d| {
    format!(
        "SELECT i.state, a.state, r.mode, count(*) FROM items i {} {} WHERE i.job_id = ?1 GROUP BY i.state, a.state, r.mode",
        d.each_by_key("attempts", "a", &format!("a.id = i.id * {} + i.tries", attempts_per_item())),
        d.each_by_key("runs", "r", "r.id = i.run_id")
    )
});
pub(crate) static RETRIES: Sql = Sql::new(|d| {
    let again = [Outcome::Retried, Outcome::Lost].map(|outcome| format!("a.outcome = {}", code(outcome))).join(" OR ");
    let tries = d.each_by_key("attempts", "a", &tries_of_item());
    format!(
        "SELECT count(*) FROM items i {tries} WHERE i.job_id = ?1 AND a.{} AND ({again})",
        in_states(&[AttemptState::Resulted])
    )
});

pub(crate) fn recount_job(conn: &Connection, job: JobId) -> Result<JobCounters> {
    let mut counted = JobCounters::default();
    let mut stmt = conn.prepare_cached(&RECOUNT_JOB)?;
    let found = stmt.query_map([job.0], |row| {
        let mut c = Cells::of(row);
        Ok((c.coded()?, c.coded()?, c.word()?, c.get()?))
    })?;
    for found in found.collect::<backend::Result<Vec<(ItemState, AttemptState, Mode, i64)>>>()? {
        let (state, attempt, mode, n) = found;
        counted.add(mode, Counters::of_items(state, attempt, n));
    }
    counted.all.retries = conn.prepare_cached(&RETRIES)?.query_row([job.0], |row| row.get(0))?;
    Ok(counted)
}
