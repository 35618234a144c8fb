//! Where looks at a queue begin. What has left a queue stays in its index until the database may clear it away, and it
//! may not while somebody keeps an old transaction open: every look would read over all that was done since. So a
//! look that took long leaves a mark where it first found something, and for a while looks begin there. What was
//! queued before the mark meanwhile is found by the next look from the start. Without an old transaction looks are
//! quick, and there are no marks.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windrow_model::RunId;

/// A look that takes longer reads over much that is gone; one may only have had to wait for a processor.
const LONG: Duration = Duration::from_millis(15);
const LONG_LOOKS: u32 = 2;
/// A mark is good for so many times what the look from the start took, and for a second at least.
const WORTH: u32 = 20;
const AT_LEAST: Duration = Duration::from_secs(1);
/// Until it is asked again whether a queue may have marks.
const BARRED: Duration = Duration::from_secs(600);

/// A list that is read from its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Queue {
    Waiting { run: RunId, wave: i64 },
    HandedIn { run: RunId },
    Leased,
}

/// Where a list, or each part of it, began to have something: the part and the place in it.
pub(crate) type Heads = Vec<(i64, (i64, i64))>;

pub(crate) struct Lookout {
    long: Duration,
    marks: Mutex<HashMap<Queue, Mark>>,
}

struct Mark {
    barred: bool,
    long_looks: u32,
    heads: Heads,
    until: Instant,
}

impl Mark {
    fn new(until: Instant) -> Self {
        Self { barred: false, long_looks: 0, heads: Vec::new(), until }
    }
}

impl Default for Lookout {
    fn default() -> Self {
        Self::marking_after(LONG)
    }
}

/// One look, from its beginning to its end.
pub(crate) struct Look<'a> {
    lookout: &'a Lookout,
    queue: Queue,
    began: Instant,
    /// Where to begin; `None` is the start.
    pub from: Option<Heads>,
}

impl Lookout {
    pub fn marking_after(long: Duration) -> Self {
        Self { long, marks: Mutex::default() }
    }

    pub fn look(&self, queue: Queue) -> Look<'_> {
        let began = Instant::now();
        let marks = self.marks();
        let mark = marks.get(&queue).filter(|mark| !mark.barred && mark.long_looks >= LONG_LOOKS && mark.until > began);
        let from = mark.map(|mark| mark.heads.clone()).filter(|heads| !heads.is_empty());
        Look { lookout: self, queue, began, from }
    }

    fn marks(&self) -> MutexGuard<'_, HashMap<Queue, Mark>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Look<'_> {
    /// This queue is looked at from the start, and will be.
    pub fn bar(self) {
        let (now, mut marks) = (Instant::now(), self.lookout.marks());
        marks.retain(|_, mark| mark.until > now);
        marks.insert(self.queue, Mark { barred: true, ..Mark::new(now + BARRED) });
    }

    /// What it found first. A part in which there is nothing is looked at from where it was.
    pub fn found(self, heads: Heads) {
        let (now, took) = (Instant::now(), self.began.elapsed());
        let mut marks = self.lookout.marks();
        if marks.get(&self.queue).is_some_and(|mark| mark.barred && mark.until > now) {
            return;
        }
        if self.from.is_none() && took < self.lookout.long {
            marks.remove(&self.queue);
            return;
        }
        marks.retain(|queue, mark| mark.until > now || *queue == self.queue);
        let mark = marks.entry(self.queue).or_insert(Mark::new(now));
        mark.barred = false;
        for (part, head) in heads {
            match mark.heads.iter_mut().find(|(known, _)| *known == part) {
                Some(known) => known.1 = head,
                None => mark.heads.push((part, head)),
            }
        }
        if self.from.is_none() {
            mark.long_looks += 1;
            mark.until = now + (took * WORTH).max(AT_LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: Queue = Queue::HandedIn { run: RunId(1) };

    #[test]
    fn looks_that_take_long_leave_a_mark_and_quick_ones_remove_it() {
        let mut lookout = Lookout::marking_after(Duration::ZERO);
        for head in 1..=2 {
            let look = lookout.look(QUEUE);
            assert_eq!(look.from, None, "one may be chance");
            look.found(vec![(0, (head, 0))]);
        }
        assert_eq!(lookout.look(QUEUE).from, Some(vec![(0, (2, 0))]));
        lookout.look(QUEUE).found(vec![(0, (7, 0))]);
        lookout.look(QUEUE).found(Vec::new());
        assert_eq!(lookout.look(QUEUE).from, Some(vec![(0, (7, 0))]), "it moves on with what is found");
        assert_eq!(lookout.look(Queue::Leased).from, None, "each queue has its own");
        lookout.marks().get_mut(&QUEUE).unwrap().until = Instant::now();
        lookout.long = Duration::MAX;
        let look = lookout.look(QUEUE);
        assert_eq!(look.from, None, "after a while it looks from the start");
        look.found(vec![(0, (3, 0))]);
        assert!(lookout.marks().is_empty());
        lookout.long = Duration::ZERO;
        lookout.look(QUEUE).bar();
        (0..5).for_each(|_| lookout.look(QUEUE).found(vec![(0, (1, 0))]));
        assert_eq!(lookout.look(QUEUE).from, None, "barred");
        lookout.marks().get_mut(&QUEUE).unwrap().until = Instant::now();
        lookout.look(Queue::Leased).bar();
        assert_eq!(lookout.marks().len(), 1, "of a run that is over nothing is kept");
    }
}
