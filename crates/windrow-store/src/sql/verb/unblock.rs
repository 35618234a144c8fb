//! A resource became free: the first waiting try of each run may go on, so that a paused run cannot
//! keep the others waiting.

use windrow_model::state::{ATTEMPT, AttemptEvent};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Connection, OptionalExtension, params};
use crate::sql::codes::{Sql, goal_code, guard};
use crate::sql::lock;

pub(crate) static FIRST_BLOCKED: Sql = Sql::new(|| {
    let guard = guard(&ATTEMPT, AttemptEvent::Unblock);
    format!(
        "SELECT run_id, id FROM attempts WHERE {guard} AND resource = ?1 AND run_id > ?2 ORDER BY run_id, id LIMIT 1"
    )
});
pub(crate) static UNBLOCK: Sql = Sql::new(|| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Unblock), guard(&ATTEMPT, AttemptEvent::Unblock));
    format!("UPDATE attempts SET state = {goal} WHERE id = ?1 AND {guard}")
});

/// Whether an attempt waits for the resource. A row of `stripes` carries the answer, so that this can be asked about a set.
static AWAITED: Sql = Sql::new(|| {
    let guard = guard(&ATTEMPT, AttemptEvent::Unblock);
    format!(
        "SELECT s.id FROM stripes s WHERE s.id = ?2 AND EXISTS (SELECT 1 FROM attempts a WHERE a.{guard} AND a.resource = ?1)"
    )
});

/// Whoever frees one holds them all (`lock::resources`).
pub(crate) fn free(tx: &Connection, resources: &[String]) -> Result<()> {
    if !tx.is_shared() {
        return resources.iter().try_for_each(|resource| free_one(tx, resource));
    }
    let mut awaited = Vec::new();
    let asked = resources.iter().map(|resource| [Cell::Text(resource), Cell::Int(lock::RESOURCES)]);
    tx.query_many(&AWAITED, &asked.collect::<Vec<_>>(), |n, _| {
        awaited.push(n);
        Ok(())
    })?;
    awaited.into_iter().try_for_each(|n| free_one(tx, &resources[n]))
}

fn free_one(tx: &Connection, resource: &str) -> Result<()> {
    // From run to run by the index: a million waiting in one run are one look.
    let mut stmt = tx.prepare_cached(&FIRST_BLOCKED)?;
    let mut first = |after: i64| {
        stmt.query_row(params![resource, after], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?))).optional()
    };
    let mut after = i64::MIN;
    while let Some((run, id)) = first(after)? {
        after = run;
        let changed = tx.prepare_cached(&UNBLOCK)?.execute([id])?;
        expect_rows(changed, 1, "unblocked attempt")?;
    }
    Ok(())
}
