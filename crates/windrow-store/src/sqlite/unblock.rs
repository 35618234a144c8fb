//! A resource became free: the first waiting try of each run may go on, so that a paused run cannot
//! keep the others waiting.

use rusqlite::Connection;
use windrow_model::state::{ATTEMPT, AttemptEvent};

use super::codes::{Sql, goal_code, guard};
use super::fault::{Result, expect_rows};

pub(super) static FIRST_BLOCKED: Sql = Sql::new(|| {
    let guard = guard(&ATTEMPT, AttemptEvent::Unblock);
    format!("SELECT min(id) FROM attempts WHERE {guard} AND resource = ?1 GROUP BY run_id")
});
static UNBLOCK: Sql = Sql::new(|| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Unblock), guard(&ATTEMPT, AttemptEvent::Unblock));
    format!("UPDATE attempts SET state = {goal} WHERE id = ?1 AND {guard}")
});

pub(super) fn free(tx: &Connection, resource: &str) -> Result<()> {
    let mut stmt = tx.prepare_cached(&FIRST_BLOCKED)?;
    let firsts: Vec<i64> = stmt.query_map([resource], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for id in firsts {
        let changed = tx.prepare_cached(&UNBLOCK)?.execute([id])?;
        expect_rows(changed, 1, "unblocked attempt")?;
    }
    Ok(())
}
