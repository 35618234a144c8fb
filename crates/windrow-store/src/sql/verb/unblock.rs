//! A resource became free: the first waiting try of each run may go on, so that a paused run cannot
//! keep the others waiting.

use windrow_model::state::{ATTEMPT, AttemptEvent};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Change, Connection, Lookup, OptionalExtension, Sql, params};
use crate::sql::codes::{goal_code, guard, keyed_guard};

pub(crate) static FIRST_BLOCKED: Sql = Sql::new(|_| {
    let guard = guard(&ATTEMPT, AttemptEvent::Unblock);
    format!(
        "SELECT run_id, id FROM attempts WHERE {guard} AND resource = ?1 AND run_id > ?2 ORDER BY run_id, id LIMIT 1"
    )
});
pub(crate) static UNBLOCK: Change = Change::written("attempts", |d| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Unblock), keyed_guard(d, &ATTEMPT, AttemptEvent::Unblock));
    [format!("state = {goal}"), format!("id = ?1 AND {guard}")]
});

/// Whether an attempt waits for the resource. A row of `stripes` carries the answer, so that this can be asked about a set.
pub(crate) static AWAITED: Lookup = Lookup::written(|_| {
    let guard = guard(&ATTEMPT, AttemptEvent::Unblock);
    let awaited = format!("EXISTS (SELECT 1 FROM attempts a WHERE a.{guard} AND a.resource = ?1)");
    ["s.last".into(), "sequences s".into(), format!("s.name = 'items' AND {awaited}"), String::new()]
});

/// Whoever frees one has locked the attempt that held it.
pub(crate) fn free(tx: &Connection, resources: &[String]) -> Result<()> {
    let mut awaited = Vec::new();
    let asked = resources.iter().map(|resource| [Cell::Text(resource)]);
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
