//! The items this process has claimed and not handed in, counted per run, because the dispatcher asks for the counts in
//! every round.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windrow_model::{AttemptId, Lease, RunId};

use crate::attempt_control::AttemptControl;

pub type Shared = Arc<Mutex<Inflight>>;

pub fn lock(inflight: &Shared) -> MutexGuard<'_, Inflight> {
    inflight.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps an item in flight until it is dropped. However the item ends (handed in, released, its task dropped), its lease is
/// not renewed after that, and is reaped.
pub struct Registered {
    inflight: Shared,
    pub control: Arc<AttemptControl>,
}

impl Registered {
    pub fn new(inflight: &Shared, control: Arc<AttemptControl>) -> Self {
        lock(inflight).insert(control.clone());
        Self { inflight: inflight.clone(), control }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.inflight).remove(self.control.lease);
    }
}

#[derive(Default)]
pub struct Inflight {
    controls: HashMap<AttemptId, Arc<AttemptControl>>,
    by_run: BTreeMap<RunId, usize>,
}

impl Inflight {
    fn insert(&mut self, control: Arc<AttemptControl>) {
        // A worker may not have noticed yet that its earlier lease on the same attempt is lost.
        if let Some(old) = self.controls.get(&control.lease.attempt).map(|old| old.lease) {
            self.remove(old);
        }
        *self.by_run.entry(control.lease.run).or_insert(0) += 1;
        self.controls.insert(control.lease.attempt, control);
    }

    /// Does nothing if the attempt is in flight under another lease.
    fn remove(&mut self, lease: Lease) {
        if self.controls.get(&lease.attempt).is_none_or(|control| control.lease != lease) {
            return;
        }
        let Some(control) = self.controls.remove(&lease.attempt) else { return };
        let count = self.by_run.get_mut(&control.lease.run).expect("counted when inserted");
        *count -= 1;
        if *count == 0 {
            self.by_run.remove(&control.lease.run);
        }
    }

    pub fn get(&self, attempt: AttemptId) -> Option<&Arc<AttemptControl>> {
        self.controls.get(&attempt)
    }

    /// Ordered by id, so that a simulation is reproducible.
    pub fn all(&self) -> Vec<Arc<AttemptControl>> {
        let mut controls: Vec<_> = self.controls.values().cloned().collect();
        controls.sort_by_key(|control| control.lease.attempt);
        controls
    }

    pub fn take(&mut self) -> Vec<Arc<AttemptControl>> {
        let controls = self.all();
        *self = Self::default();
        controls
    }

    pub fn len(&self) -> usize {
        self.controls.len()
    }

    pub fn of(&self, run: RunId) -> usize {
        self.by_run.get(&run).copied().unwrap_or(0)
    }
}
