//! Which rows of the result table changed: ids of items, written in the transaction of every verb that changes what a
//! row shows. In a file the order of the ids is the order of the commits. On a server, whoever reads the changes of a job
//! numbers those that are committed first, as it is with events (`event_numbers.rs`): no writer waits for another, and
//! what commits late gets a later number, so that no reader passes it over.

use windrow_model::store::ResultChanges;
use windrow_model::{ItemId, JobId};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, NewRows, OptionalExtension, Row, params};
use crate::sql::lock;

/// As many get their number in one transaction.
const AT_ONCE: i64 = 1_000;
const FORGOTTEN_AT_ONCE: i64 = 10_000;

pub(crate) static NOTE: NewRows = NewRows::new("result_changes", "job_id, items", "?1, ?2");
pub(crate) static NUMBER: Change = Change::update("result_changes", "seq = ?2", "id = ?1");
pub(crate) static FORGET: NewRows =
    NewRows::new("result_heads", "job_id, forgotten", "?1, ?2").or_replace("job_id", &["forgotten"]);

/// The rows of these items show something else from now on.
pub(crate) fn note(tx: &Connection, job: JobId, items: impl IntoIterator<Item = ItemId>) -> Result<()> {
    let mut items: Vec<i64> = items.into_iter().map(|item| item.0).collect();
    if items.is_empty() {
        return Ok(());
    }
    items.sort_unstable();
    items.dedup();
    let body = encode(&items);
    expect_rows(tx.execute_many(&NOTE, &[[Cell::Int(job.0), Cell::Blob(&body)]])?, 1, "result changes")
}

/// Whether the job has changes that are committed and not numbered.
pub(crate) fn is_due(conn: &Connection, job: JobId) -> Result<bool> {
    if !conn.is_shared() {
        return Ok(false);
    }
    let mut stmt =
        conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM result_changes WHERE job_id = ?1 AND seq IS NULL)")?;
    Ok(stmt.query_row([job.0], |row| row.get(0))?)
}

/// Whether there may be more of them.
pub(crate) fn number(tx: &Connection, job: JobId) -> Result<bool> {
    lock::sequence(tx, "result_changes")?;
    let mut stmt = tx.prepare_cached("SELECT last FROM sequences WHERE name = 'result_changes'")?;
    let last: i64 = stmt.query_row((), |row| row.get(0))?;
    let sql = "SELECT id FROM result_changes WHERE job_id = ?1 AND seq IS NULL ORDER BY id LIMIT ?2";
    let found = tx.prepare_cached(sql)?.query_map([job.0, AT_ONCE], |row| row.get(0))?;
    let ids: Vec<i64> = found.collect::<backend::Result<_>>()?;
    let rows: Vec<[Cell; 2]> = ids.iter().zip(last + 1..).map(|(id, seq)| [*id, seq].map(Cell::Int)).collect();
    expect_rows(tx.execute_many(&NUMBER, &rows)?, rows.len(), "numbered changes")?;
    let mut stmt = tx.prepare_cached("UPDATE sequences SET last = ?1 WHERE name = 'result_changes'")?;
    expect_rows(stmt.execute([last + rows.len() as i64])?, 1, "last number of a change")?;
    Ok(rows.len() as i64 == AT_ONCE)
}

/// `None` if some of them are forgotten.
pub(crate) fn after(conn: &Connection, job: JobId, after: i64, limit: usize) -> Result<Option<ResultChanges>> {
    if forgotten(conn, job)? > after {
        return Ok(None);
    }
    let sql = match conn.is_shared() {
        false => {
            "SELECT id, items FROM result_changes WHERE job_id = ?1 AND seq IS NULL AND id > ?2 ORDER BY id LIMIT ?3"
        }
        true => "SELECT seq, items FROM result_changes WHERE job_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    };
    let mut stmt = conn.prepare_cached(sql)?;
    let read = |row: &Row| Ok((row.get::<i64>(0)?, row.get::<Vec<u8>>(1)?));
    let found = stmt.query_map(params![job.0, after, limit as i64], read)?.collect::<backend::Result<Vec<_>>>()?;
    let mut items: Vec<ItemId> = found.iter().flat_map(|(_, body)| decode(body)).map(ItemId).collect();
    items.sort_unstable();
    items.dedup();
    let newest = found.last().map_or(after, |(number, _)| *number);
    Ok(Some(ResultChanges { newest, items, more: found.len() == limit }))
}

pub(crate) fn newest(conn: &Connection, job: JobId) -> Result<i64> {
    let sql = match conn.is_shared() {
        false => "SELECT max(id) FROM result_changes WHERE job_id = ?1 AND seq IS NULL",
        true => "SELECT max(seq) FROM result_changes WHERE job_id = ?1",
    };
    let newest: Option<i64> = conn.prepare_cached(sql)?.query_row([job.0], |row| row.get(0))?;
    Ok(newest.unwrap_or(0).max(forgotten(conn, job)?))
}

pub(crate) fn forgotten(conn: &Connection, job: JobId) -> Result<i64> {
    let mut stmt = conn.prepare_cached("SELECT forgotten FROM result_heads WHERE job_id = ?1")?;
    Ok(stmt.query_row([job.0], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// Whether there may be more to forget: a transaction deletes a bounded number of rows.
pub(crate) fn forget(tx: &Connection, job: JobId, up_to: i64, keep: usize) -> Result<bool> {
    tx.lock("jobs", [job.0])?;
    let sql = match tx.is_shared() {
        false => "SELECT id FROM result_changes WHERE job_id = ?1 AND seq IS NULL ORDER BY id DESC LIMIT 1 OFFSET ?2",
        true => {
            "SELECT seq FROM result_changes WHERE job_id = ?1 AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?2"
        }
    };
    let newest: Option<i64> = tx.prepare_cached(sql)?.query_row([job.0, keep as i64], |row| row.get(0)).optional()?;
    let up_to = up_to.min(newest.unwrap_or(0));
    let sql = match tx.is_shared() {
        false => {
            "SELECT id FROM result_changes WHERE job_id = ?1 AND seq IS NULL AND id <= ?2 ORDER BY id LIMIT 1 OFFSET ?3"
        }
        true => "SELECT seq FROM result_changes WHERE job_id = ?1 AND seq <= ?2 ORDER BY seq LIMIT 1 OFFSET ?3",
    };
    let further: Option<i64> =
        tx.prepare_cached(sql)?.query_row([job.0, up_to, FORGOTTEN_AT_ONCE], |row| row.get(0)).optional()?;
    let reached = further.unwrap_or(up_to);
    if reached <= forgotten(tx, job)? {
        return Ok(false);
    }
    let sql = match tx.is_shared() {
        false => "DELETE FROM result_changes WHERE job_id = ?1 AND seq IS NULL AND id <= ?2",
        true => "DELETE FROM result_changes WHERE job_id = ?1 AND seq <= ?2",
    };
    tx.prepare_cached(sql)?.execute([job.0, reached])?;
    tx.execute_many(&FORGET, &[[job.0, reached].map(Cell::Int)])?;
    Ok(further.is_some())
}

/// Jobs with more rows than this.
pub(crate) fn jobs(conn: &Connection, more_than: usize) -> Result<Vec<JobId>> {
    let sql = "SELECT job_id FROM result_changes GROUP BY job_id HAVING count(*) > ?1 ORDER BY job_id";
    let found = conn.prepare_cached(sql)?.query_map([more_than as i64], |row| row.get(0).map(JobId))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

/// Of a job that is deleted.
pub(crate) fn drop_all(tx: &Connection, job: JobId) -> Result<()> {
    tx.prepare_cached("DELETE FROM result_changes WHERE job_id = ?1")?.execute([job.0])?;
    tx.prepare_cached("DELETE FROM result_heads WHERE job_id = ?1")?.execute([job.0])?;
    Ok(())
}

/// Runs of ids without a gap: how far each begins behind the last, and its length.
fn encode(items: &[i64]) -> Vec<u8> {
    let (mut body, mut end) = (Vec::with_capacity(16), 0);
    for run in items.chunk_by(|one, next| one + 1 == *next) {
        put(&mut body, (run[0] - end) as u64);
        put(&mut body, run.len() as u64);
        end = run[0] + run.len() as i64;
    }
    body
}

fn decode(body: &[u8]) -> Vec<i64> {
    let (mut at, mut end, mut items) = (body.iter(), 0, Vec::new());
    while let (Some(gap), Some(len)) = (take(&mut at), take(&mut at)) {
        let first = end + gap as i64;
        end = first + len as i64;
        items.extend(first..end);
    }
    items
}

/// Seven bits to a byte, the lowest first.
fn put(body: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        body.push(number as u8 | 0x80);
        number >>= 7;
    }
    body.push(number as u8);
}

fn take(body: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *body.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_as_they_were() {
        for items in [vec![0], vec![1, 2, 3, 9, 500, 501], vec![7, i64::MAX - 1], (1_000_000..1_005_000).collect()] {
            assert_eq!(decode(&encode(&items)), items);
        }
        assert_eq!(encode(&(1_000_000..1_005_000).collect::<Vec<_>>()).len(), 5);
    }
}
