//! A job is deleted: out of sight at once, with its runs; what it leaves behind is swept away a bounded
//! number of rows at a time, so that no transaction grows with the job.

use windrow_model::JobId;
use windrow_model::store::StoreError;

use crate::backend::Connection;
use crate::backend::failure::Result;
use crate::sql::admin::clean_up::{self, ids};
use crate::sql::table::{event_numbers, jobs, result_changes};

pub(crate) const LOG: &str = "SELECT id FROM log WHERE job_id = ?1 ORDER BY id LIMIT ?2";
pub(crate) const OUTBOX: &str = "SELECT id FROM outbox WHERE job_id = ?1 ORDER BY id LIMIT ?2";

pub(crate) fn delete_job(tx: &Connection, id: JobId) -> Result<()> {
    tx.lock("jobs", [id.0])?;
    let job = jobs::job(tx, id)?;
    let live = ids(tx, "SELECT id FROM runs WHERE job_id = ?1 AND ended_at IS NULL", [id.0])?;
    if let Some(run) = live.first() {
        return Err(StoreError::RunningExisted { name: job.name, run: windrow_model::RunId(*run) }.into());
    }
    clean_up::doom(tx, &[id])
}

/// `None` if events of the job have no number yet: they are not found by their job, and are numbered first.
pub(crate) fn sweep_jobs(tx: &Connection, limit: usize) -> Result<Option<i64>> {
    let doomed = ids(tx, "SELECT job_id FROM doomed_jobs ORDER BY job_id LIMIT 1", ())?;
    let Some(job) = doomed.first().copied() else { return Ok(Some(0)) };
    if event_numbers::is_due_for(tx, JobId(job))? {
        return Ok(None);
    }
    let items = ids(tx, clean_up::ITEMS, [job, limit as i64])?;
    clean_up::delete_items(tx, &items)?;
    let mut swept = items.len() as i64;
    for (select, delete) in [
        (LOG, "DELETE FROM log WHERE job_id = ?1 AND id <= ?2"),
        (OUTBOX, "DELETE FROM outbox WHERE job_id = ?1 AND id <= ?2"),
    ] {
        if swept == limit as i64 {
            break;
        }
        let page = ids(tx, select, [job, limit as i64 - swept])?;
        if let Some(last) = page.last() {
            tx.prepare_cached(delete)?.execute([job, *last])?;
        }
        swept += page.len() as i64;
    }
    if swept < limit as i64 {
        result_changes::drop_all(tx, JobId(job))?;
        tx.prepare_cached("DELETE FROM doomed_jobs WHERE job_id = ?1")?.execute([job])?;
        swept += 1;
    }
    Ok(Some(swept))
}
