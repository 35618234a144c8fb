//! Step 4: fill free places. Slots are counted by the store from live leases; here they are only
//! shared fairly between the runs, so that each run with work gets its part of the workers (T5).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windrow_model::RunId;
use windrow_model::store::{Claim, StoreError};

use crate::bench::Order;
use crate::crew;
use crate::node::{Node, Work};

/// How many items a run may claim now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want(pub usize);

/// Deals the node's free places out one by one, always to the run that has the fewest.
pub fn share_places<'a>(node: &Node, works: impl Iterator<Item = &'a Arc<Work>>) -> BTreeMap<RunId, Want> {
    if node.is_draining() {
        return BTreeMap::new();
    }
    let inflight = node.inflight();
    let free = (node.settings.workers + node.settings.ahead()).saturating_sub(inflight.len());
    let runs = works.filter(|work| work.run.state.dispatches() && work.program.place().is_here()).map(|work| {
        let run = &work.run;
        (run.id, inflight.of(run.id), run.limits.concurrency.max(0) as usize)
    });
    deal(free, runs.collect())
}

/// `runs`: id, places held, places at most.
pub fn deal(mut free: usize, runs: Vec<(RunId, usize, usize)>) -> BTreeMap<RunId, Want> {
    let mut wants: BTreeMap<RunId, Want> = BTreeMap::new();
    let mut open: Vec<(usize, RunId, usize)> =
        runs.into_iter().filter(|(_, held, most)| held < most).map(|(id, held, most)| (held, id, most)).collect();
    while free > 0 && !open.is_empty() {
        open.sort();
        let (held, id, most) = open[0];
        // Up to the level of the next one, or all that is left when it is alone.
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

/// Claims and queues for the workers. Returns how many.
pub async fn claim(node: &Arc<Node>, work: &Arc<Work>, want: Want) -> Result<usize, StoreError> {
    // Counted before the question, so that who drains either is seen here or sees this claim.
    let _underway = Underway::begin(&node.claims);
    if want.0 == 0 || node.is_draining() {
        return Ok(0);
    }
    let claim = Claim { run: work.run.id, session: node.session, want: want.0, lease_ms: node.settings.lease_ms };
    let claimed = node.store.claim(claim, node.now()).await?;
    let n = claimed.len();
    node.meters.claimed(n);
    let job = Some(work.job.id);
    let (mode, fresh) = (work.run.mode, work.run.fresh);
    for claimed in claimed {
        crew::take_on(node, Order { claimed, program: work.program.clone(), mode, fresh, job }).await;
    }
    Ok(n)
}

/// A claim that is being made.
pub struct Underway<'a>(&'a AtomicUsize);

impl<'a> Underway<'a> {
    pub fn begin(claims: &'a AtomicUsize) -> Self {
        claims.fetch_add(1, Ordering::SeqCst);
        Self(claims)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(free: usize, runs: &[(i64, usize, usize)]) -> Vec<usize> {
        let runs: Vec<_> = runs.iter().map(|(id, held, most)| (RunId(*id), *held, *most)).collect();
        let wants = deal(free, runs.clone());
        runs.iter().map(|(id, _, _)| wants.get(id).map_or(0, |want| want.0)).collect()
    }

    /// T5: a run that holds nothing gets the next place, whatever the others hold.
    #[test]
    fn the_run_with_the_fewest_places_comes_first() {
        assert_eq!(shares(1, &[(1, 31, 100), (2, 0, 100)]), [0, 1]);
        assert_eq!(shares(10, &[(1, 0, 100), (2, 0, 100)]).iter().sum::<usize>(), 10);
        assert!(shares(10, &[(1, 0, 100), (2, 0, 100)]).iter().all(|n| (4..=6).contains(n)));
    }

    #[test]
    fn no_run_gets_more_than_its_limit_and_no_place_stays_empty() {
        assert_eq!(shares(32, &[(1, 0, 10), (2, 0, 100)]), [10, 22]);
        assert_eq!(shares(5, &[(1, 10, 10)]), [0]);
        assert_eq!(shares(64, &[(1, 4, 10), (2, 9, 10)]), [6, 1]);
    }
}
