//! Calls that wait for one resource: runs take turns, and within a run the first comes first.

use std::collections::{BTreeMap, VecDeque};

use windrow_model::RunId;

#[derive(Debug)]
pub struct Queue<W> {
    runs: BTreeMap<RunId, VecDeque<W>>,
    served: Option<RunId>,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self { runs: BTreeMap::new(), served: None }
    }
}

impl<W> Queue<W> {
    pub fn push(&mut self, run: RunId, waiter: W) {
        self.runs.entry(run).or_default().push_back(waiter);
    }

    /// Whose turn it is: the run after the one served last.
    fn turn(&self) -> Option<RunId> {
        let after = self.served.map_or(i64::MIN, |served| served.0.saturating_add(1));
        let next = self.runs.range(RunId(after)..).next().or_else(|| self.runs.iter().next());
        next.map(|(run, _)| *run)
    }

    pub fn first(&self) -> Option<&W> {
        self.runs.get(&self.turn()?)?.front()
    }

    /// Those whose turns are next, in their order.
    pub fn coming(&self, most: usize) -> impl Iterator<Item = &W> {
        let after = self.served.map_or(i64::MIN, |served| served.0.saturating_add(1));
        let runs: Vec<&VecDeque<W>> =
            self.runs.range(RunId(after)..).chain(self.runs.range(..RunId(after))).map(|(_, run)| run).collect();
        let deepest = runs.iter().map(|run| run.len()).max().unwrap_or(0);
        (0..deepest).flat_map(move |place| runs.clone().into_iter().filter_map(move |run| run.get(place))).take(most)
    }

    pub fn pop(&mut self) -> Option<(RunId, W)> {
        let run = self.turn()?;
        let waiters = self.runs.get_mut(&run)?;
        let waiter = waiters.pop_front()?;
        if waiters.is_empty() {
            self.runs.remove(&run);
        }
        self.served = Some(run);
        Some((run, waiter))
    }

    /// True when there was one to be removed.
    pub fn remove(&mut self, run: RunId, is_it: impl Fn(&W) -> bool) -> bool {
        let Some(waiters) = self.runs.get_mut(&run) else { return false };
        let before = waiters.len();
        waiters.retain(|waiter| !is_it(waiter));
        let removed = waiters.len() < before;
        if waiters.is_empty() {
            self.runs.remove(&run);
        }
        removed
    }

    pub fn reject_waiting(&mut self, run: RunId) {
        self.runs.remove(&run);
    }

    pub fn clear(&mut self) {
        self.runs.clear();
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn has(&self, run: RunId) -> bool {
        self.runs.contains_key(&run)
    }

    /// The newest call of the run.
    pub fn newest(&self, run: RunId) -> Option<&W> {
        self.runs.get(&run)?.back()
    }

    pub fn by_run(&self) -> impl Iterator<Item = (RunId, impl Iterator<Item = &W>)> {
        self.runs.iter().map(|(run, waiters)| (*run, waiters.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T5: a run with a thousand waiting items does not keep one with a few from its turn.
    #[test]
    fn runs_take_turns_and_the_first_comes_first() {
        let mut queue = Queue::default();
        (0..5).for_each(|n| queue.push(RunId(1), n));
        (10..12).for_each(|n| queue.push(RunId(2), n));
        queue.push(RunId(3), 20);
        let coming: Vec<i32> = queue.coming(7).copied().collect();
        assert_eq!(coming, [0, 10, 20, 1, 11, 2, 3], "foreseen");
        let assignment: Vec<i32> = std::iter::from_fn(|| queue.pop().map(|(_, n)| n)).collect();
        assert_eq!(assignment, [0, 10, 20, 1, 11, 2, 3, 4]);
        queue.push(RunId(1), 5);
        queue.push(RunId(2), 12);
        assert_eq!(queue.first(), Some(&12), "the turn is remembered");
    }

    #[test]
    fn who_gives_up_waiting_leaves_the_others_in_their_order() {
        let mut queue = Queue::default();
        (0..3).for_each(|n| queue.push(RunId(1), n));
        assert!(queue.remove(RunId(1), |n| *n == 1));
        assert!(!queue.remove(RunId(1), |n| *n == 1) && !queue.remove(RunId(2), |_| true));
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some((RunId(1), 0)), Some((RunId(1), 2)), None));
        assert!(queue.is_empty());
    }
}
