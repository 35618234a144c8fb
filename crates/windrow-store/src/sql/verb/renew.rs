//! Renew: a worker shows that it lives, and hears whether its run wants it to stop.

use std::collections::HashSet;

use windrow_model::state::{ATTEMPT, AttemptEvent};
use windrow_model::store::Renewal;
use windrow_model::{Lease, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Change, Connection};
use crate::sql::codes::keyed_guard;
use crate::sql::table::{attempts, runs};

pub(crate) static EXTEND: Change = Change::written("attempts", |d| {
    let guard = keyed_guard(d, &ATTEMPT, AttemptEvent::Renew);
    ["due_at = ?4".into(), format!("id = ?1 AND run_id = ?2 AND fence = ?3 AND {guard}")]
});

pub(crate) fn renew(tx: &Connection, leases: &[Lease], lease_ms: i64, now: Time) -> Result<Vec<Renewal>> {
    let held = attempts::held(tx, leases.iter().map(|lease| lease.attempt))?;
    let lives = |lease: &Lease| {
        let attempt = held.get(&lease.attempt).filter(|attempt| attempt.is_of(*lease));
        attempt.is_some_and(|attempt| ATTEMPT.allows(attempt.state, AttemptEvent::Renew))
    };
    let living: HashSet<Lease> = leases.iter().copied().filter(lives).collect();
    let row = |lease: &Lease| [lease.attempt.0, lease.run.0, lease.fence, now.0 + lease_ms].map(Cell::Int);
    let rows: Vec<[Cell; 4]> = living.iter().map(row).collect();
    expect_rows(tx.execute_many(&EXTEND, &rows)?, rows.len(), "renewed leases")?;
    let of: HashSet<RunId> = living.iter().map(|lease| lease.run).collect();
    let states = runs::states(tx, &of.into_iter().collect::<Vec<_>>())?;
    let renewal = |&lease: &Lease| {
        let alive = living.contains(&lease);
        Renewal { lease, alive, stop: alive && states[&lease.run].stops_items() }
    };
    Ok(leases.iter().map(renewal).collect())
}
