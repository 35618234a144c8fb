//! The items this node has claimed and not handed in, with their number per run at hand: the
//! dispatcher asks for it every round.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windrow_model::{AttemptId, Lease, RunId};

use crate::journal::Flag;

pub type Shared = Arc<Mutex<Inflight>>;

pub fn lock(inflight: &Shared) -> MutexGuard<'_, Inflight> {
    inflight.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In flight for as long as this lives. Whatever happens to the item (handed in, given back, its task
/// dropped in the middle of anything), its lease is not renewed beyond that, and is reaped.
pub struct Registered {
    inflight: Shared,
    pub flag: Arc<Flag>,
}

impl Registered {
    pub fn new(inflight: &Shared, flag: Arc<Flag>) -> Self {
        lock(inflight).insert(flag.clone());
        Self { inflight: inflight.clone(), flag }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.inflight).remove(self.flag.lease);
    }
}

#[derive(Default)]
pub struct Inflight {
    flags: HashMap<AttemptId, Arc<Flag>>,
    by_run: BTreeMap<RunId, usize>,
}

impl Inflight {
    fn insert(&mut self, flag: Arc<Flag>) {
        // Its worker may not have noticed yet that an earlier lease on the same attempt is over.
        if let Some(old) = self.flags.get(&flag.lease.attempt).map(|old| old.lease) {
            self.remove(old);
        }
        *self.by_run.entry(flag.lease.run).or_insert(0) += 1;
        self.flags.insert(flag.lease.attempt, flag);
    }

    /// Nothing if the attempt is in flight under another lease by now.
    fn remove(&mut self, lease: Lease) {
        if self.flags.get(&lease.attempt).is_none_or(|flag| flag.lease != lease) {
            return;
        }
        let Some(flag) = self.flags.remove(&lease.attempt) else { return };
        let count = self.by_run.get_mut(&flag.lease.run).expect("counted when inserted");
        *count -= 1;
        if *count == 0 {
            self.by_run.remove(&flag.lease.run);
        }
    }

    pub fn get(&self, attempt: AttemptId) -> Option<&Arc<Flag>> {
        self.flags.get(&attempt)
    }

    /// In the order of their ids, so that a history can be repeated.
    pub fn all(&self) -> Vec<Arc<Flag>> {
        let mut flags: Vec<_> = self.flags.values().cloned().collect();
        flags.sort_by_key(|flag| flag.lease.attempt);
        flags
    }

    pub fn take(&mut self) -> Vec<Arc<Flag>> {
        let flags = self.all();
        *self = Self::default();
        flags
    }

    pub fn len(&self) -> usize {
        self.flags.len()
    }

    pub fn of(&self, run: RunId) -> usize {
        self.by_run.get(&run).copied().unwrap_or(0)
    }
}
