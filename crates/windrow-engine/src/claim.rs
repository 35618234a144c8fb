//! Step 4: fill free worker slots. The store enforces concurrency by counting live leases; this module only divides the
//! free slots fairly between the runs (T5).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windrow_model::RunId;
use windrow_model::store::{Claim, StoreError};

use crate::node::{ActiveRun, Node};
use crate::worker_context::Assignment;
use crate::worker_pool;

/// How many items a run may claim now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want(pub usize);

/// Divides the node's free slots, one by one, always to the run that has the fewest.
pub fn share_slots<'a>(node: &Node, runs: impl Iterator<Item = &'a Arc<ActiveRun>>) -> BTreeMap<RunId, Want> {
    if node.is_draining() {
        return BTreeMap::new();
    }
    let inflight = node.workers.inflight();
    let free = (node.settings.workers + node.settings.ahead()).saturating_sub(inflight.len());
    let runs = runs.filter(|active| active.run.state.dispatches() && active.program.runs_on().allows_local());
    let runs = runs.map(|active| {
        let run = &active.run;
        (run.id, inflight.of(run.id), run.limits.concurrency.max(0) as usize)
    });
    divide(free, runs.collect())
}

/// `runs`: id, slots in use, maximum.
pub fn divide(mut free: usize, runs: Vec<(RunId, usize, usize)>) -> BTreeMap<RunId, Want> {
    let mut wants: BTreeMap<RunId, Want> = BTreeMap::new();
    let mut open: Vec<(usize, RunId, usize)> =
        runs.into_iter().filter(|(_, held, most)| held < most).map(|(id, held, most)| (held, id, most)).collect();
    while free > 0 && !open.is_empty() {
        open.sort();
        let (held, id, most) = open[0];
        // Up to the level of the next run, or all free slots when it is the only one.
        let level = open.get(1).map_or(most, |(next, _, _)| (*next + 1).min(most));
        let n = (level - held).clamp(1, free);
        wants.entry(id).or_insert(Want(0)).0 += n;
        free -= n;
        if held + n >= most {
            open.remove(0);
        } else {
            open[0].0 = held + n;
        }
    }
    wants
}

/// Claims items and queues them for the workers. Returns how many.
pub async fn claim(node: &Arc<Node>, active: &Arc<ActiveRun>, want: Want) -> Result<usize, StoreError> {
    // Counted before `is_draining` is read: either this claim sees the drain, or the drain waits for this claim.
    let _claiming = ClaimInProgress::begin(&node.claims);
    if want.0 == 0 || node.is_draining() {
        return Ok(0);
    }
    let claim = Claim { run: active.run.id, session: node.session, want: want.0, lease_ms: node.settings.lease_ms };
    let claimed = node.store.claim(claim, node.now()).await?;
    let n = claimed.len();
    node.workers.meters.claimed(n);
    let job = Some(active.job.id);
    let (mode, fresh) = (active.run.mode, active.run.fresh);
    for claimed in claimed {
        let (program, first_calls) = (active.program.clone(), Some(active.first_calls.clone()));
        let assignment = Assignment { claimed, program, mode, fresh, job, first_calls, unproven: false };
        worker_pool::enqueue(&node.workers, assignment).await;
    }
    Ok(n)
}

pub struct ClaimInProgress<'a>(&'a AtomicUsize);

impl<'a> ClaimInProgress<'a> {
    pub fn begin(claims: &'a AtomicUsize) -> Self {
        claims.fetch_add(1, Ordering::SeqCst);
        Self(claims)
    }
}

impl Drop for ClaimInProgress<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(free: usize, runs: &[(i64, usize, usize)]) -> Vec<usize> {
        let runs: Vec<_> = runs.iter().map(|(id, held, most)| (RunId(*id), *held, *most)).collect();
        let wants = divide(free, runs.clone());
        runs.iter().map(|(id, _, _)| wants.get(id).map_or(0, |want| want.0)).collect()
    }

    /// T5: a run without a slot gets the next one.
    #[test]
    fn the_run_with_the_fewest_slots_comes_first() {
        assert_eq!(shares(1, &[(1, 31, 100), (2, 0, 100)]), [0, 1]);
        assert_eq!(shares(10, &[(1, 0, 100), (2, 0, 100)]).iter().sum::<usize>(), 10);
        assert!(shares(10, &[(1, 0, 100), (2, 0, 100)]).iter().all(|n| (4..=6).contains(n)));
    }

    #[test]
    fn no_run_gets_more_than_its_limit_and_no_slot_stays_empty() {
        assert_eq!(shares(32, &[(1, 0, 10), (2, 0, 100)]), [10, 22]);
        assert_eq!(shares(5, &[(1, 10, 10)]), [0]);
        assert_eq!(shares(64, &[(1, 4, 10), (2, 9, 10)]), [6, 1]);
    }
}
