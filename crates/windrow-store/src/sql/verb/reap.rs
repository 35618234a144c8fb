//! Reap: tries whose lease has run out are queued again, or given up when lost too often.

use std::collections::HashMap;

use windrow_model::ids::MAX_TRIES;
use windrow_model::state::{ATTEMPT, AttemptEvent};
use windrow_model::store::{OVERDUE_MS, Reaped, StoreError};
use windrow_model::{AttemptId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Sql, params};
use crate::sql::codes::guard;
use crate::sql::table::attempts;
use crate::sql::verb::batch::Batch;
use crate::sql::verb::deferred::Deferred;
use crate::sql::verb::ending;
use crate::sql::verb::scan_bookmarks::{Queue, ScanBookmarks};

/// One range of leases per live run: the index that counts a run's leases also orders them by their
/// end, and a second one in order of time alone would be one more to keep on every claim.
pub(crate) static EXPIRED: Sql = Sql::new(|d| {
    let guard = guard(&ATTEMPT, AttemptEvent::Lose);
    let expired = format!("a.run_id = r.id AND a.{guard} AND a.due_at BETWEEN ?1 AND ?2");
    format!(
        "SELECT a.id FROM runs r {} WHERE r.ended_at IS NULL ORDER BY a.due_at, a.id LIMIT ?3",
        d.each_by_index("attempts", "a", "attempts_running", &expired)
    )
});

pub(crate) fn reap(tx: &Connection, bookmarks: &ScanBookmarks, limit: usize, now: Time) -> Result<Reaped> {
    let scan = bookmarks.scan(Queue::Leased);
    let from = scan.from.as_ref().map_or(i64::MIN, |heads| heads[0].1.0);
    let mut stmt = tx.prepare_cached(&EXPIRED)?;
    let found = stmt.query_map(params![from, now.0, limit as i64], |row| row.get(0).map(AttemptId))?;
    let expired: Vec<AttemptId> = found.collect::<backend::Result<_>>()?;
    // All that is left ends later, by the clocks of all nodes.
    scan.found(if expired.len() < limit { vec![(0, (now.0 - OVERDUE_MS, 0))] } else { Vec::new() });
    let held = attempts::held(tx, expired.iter().copied())?;
    let mut batch = Batch::open(tx, HashMap::new(), Deferred::of_moved(tx, expired.clone())?, now);
    let mut reaped = Reaped::default();
    for id in expired {
        let gone = || StoreError::Corrupt(format!("attempt {id} is in an index only"));
        let attempt = held.get(&id).ok_or_else(gone)?;
        // Its worker may have renewed the lease or handed the item in while we waited for the lock.
        if attempt.due_at > now || !ATTEMPT.allows(attempt.state, AttemptEvent::Lose) {
            continue;
        }
        let max_losses = batch.limits_of(attempt.run)?.max_losses;
        if i64::from(attempt.tries.losses) + 1 > max_losses || id.no() >= MAX_TRIES {
            ending::abandon(&mut batch, attempt)?;
            reaped.abandoned += 1;
        } else {
            ending::lose(&mut batch, attempt)?;
            reaped.lost += 1;
        }
    }
    batch.close()?;
    Ok(reaped)
}
