//! Renew: a worker shows that it lives, and hears whether its run wants it to stop.

use windrow_model::state::{ATTEMPT, AttemptEvent};
use windrow_model::store::Renewal;
use windrow_model::{Lease, Time};

use super::codes::{Sql, guard};
use super::db::{Connection, params};
use super::fault::Result;
use super::runs;

pub(crate) static EXTEND: Sql = Sql::new(|| {
    let guard = guard(&ATTEMPT, AttemptEvent::Renew);
    format!("UPDATE attempts SET due_at = ?4 WHERE id = ?1 AND run_id = ?2 AND fence = ?3 AND {guard}")
});

pub(crate) fn renew(tx: &Connection, leases: &[Lease], lease_ms: i64, now: Time) -> Result<Vec<Renewal>> {
    let mut extend = tx.prepare_cached(&EXTEND)?;
    let until = now + lease_ms;
    leases
        .iter()
        .map(|&lease| {
            let alive = extend.execute(params![lease.attempt.0, lease.run.0, lease.fence, until.0])? == 1;
            let stop = alive && runs::state(tx, lease.run)?.stops_items();
            Ok(Renewal { lease, alive, stop })
        })
        .collect()
}
