//! Where scans of a queue begin. Entries that have left a queue stay in its index until the database may vacuum them, and
//! it may not while an old transaction is open: every scan would read over all of them. So a scan that took long leaves a
//! bookmark where it found its first row, and for a while scans begin there. Rows queued before the bookmark are picked up
//! when it expires, at the latest. Without an old transaction scans are quick and leave no bookmarks.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windrow_model::RunId;

/// A scan that takes longer reads over much that is gone; one may only have had to wait for a processor.
const LONG: Duration = Duration::from_millis(15);
const LONG_SCANS: u32 = 2;
/// A bookmark is valid for this many times the duration of the scan from the start, and for a second at least.
const WORTH: u32 = 20;
const AT_LEAST: Duration = Duration::from_secs(1);
/// How long a queue stays without bookmarks once it may not have any.
const DISABLED: Duration = Duration::from_secs(600);

/// A list that is read from its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Queue {
    Waiting { run: RunId, wave: i64 },
    HandedIn { run: RunId },
    Leased,
}

/// Where a list, or each part of it, began to have something: the part and the place in it.
pub(crate) type Heads = Vec<(i64, (i64, i64))>;

pub(crate) struct ScanBookmarks {
    long: Duration,
    bookmarks: Mutex<HashMap<Queue, Bookmark>>,
}

struct Bookmark {
    disabled: bool,
    long_scans: u32,
    heads: Heads,
    until: Instant,
}

impl Bookmark {
    fn new(until: Instant) -> Self {
        Self { disabled: false, long_scans: 0, heads: Vec::new(), until }
    }
}

impl Default for ScanBookmarks {
    fn default() -> Self {
        Self::bookmark_after(LONG)
    }
}

/// One scan, from its beginning to its end.
pub(crate) struct Scan<'a> {
    bookmarks: &'a ScanBookmarks,
    queue: Queue,
    began: Instant,
    /// Where to begin; `None` is the start.
    pub from: Option<Heads>,
}

impl ScanBookmarks {
    pub fn bookmark_after(long: Duration) -> Self {
        Self { long, bookmarks: Mutex::default() }
    }

    pub fn scan(&self, queue: Queue) -> Scan<'_> {
        let began = Instant::now();
        let bookmarks = self.bookmarks();
        let bookmark = bookmarks
            .get(&queue)
            .filter(|bookmark| !bookmark.disabled && bookmark.long_scans >= LONG_SCANS && bookmark.until > began);
        let from = bookmark.map(|bookmark| bookmark.heads.clone()).filter(|heads| !heads.is_empty());
        Scan { bookmarks: self, queue, began, from }
    }

    fn bookmarks(&self) -> MutexGuard<'_, HashMap<Queue, Bookmark>> {
        self.bookmarks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scan<'_> {
    /// This queue is scanned from the start from now on.
    pub fn disable(self) {
        let (now, mut bookmarks) = (Instant::now(), self.bookmarks.bookmarks());
        bookmarks.retain(|_, bookmark| bookmark.until > now);
        bookmarks.insert(self.queue, Bookmark { disabled: true, ..Bookmark::new(now + DISABLED) });
    }

    /// What it found first. A part without rows keeps its bookmark.
    pub fn found(self, heads: Heads) {
        let (now, took) = (Instant::now(), self.began.elapsed());
        let mut bookmarks = self.bookmarks.bookmarks();
        if bookmarks.get(&self.queue).is_some_and(|bookmark| bookmark.disabled && bookmark.until > now) {
            return;
        }
        if self.from.is_none() && took < self.bookmarks.long {
            bookmarks.remove(&self.queue);
            return;
        }
        bookmarks.retain(|queue, bookmark| bookmark.until > now || *queue == self.queue);
        let bookmark = bookmarks.entry(self.queue).or_insert(Bookmark::new(now));
        bookmark.disabled = false;
        for (part, head) in heads {
            match bookmark.heads.iter_mut().find(|(known, _)| *known == part) {
                Some(known) => known.1 = head,
                None => bookmark.heads.push((part, head)),
            }
        }
        if self.from.is_none() {
            bookmark.long_scans += 1;
            bookmark.until = now + (took * WORTH).max(AT_LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: Queue = Queue::HandedIn { run: RunId(1) };

    #[test]
    fn long_scans_leave_a_bookmark_and_quick_ones_remove_it() {
        let mut bookmarks = ScanBookmarks::bookmark_after(Duration::ZERO);
        for head in 1..=2 {
            let scan = bookmarks.scan(QUEUE);
            assert_eq!(scan.from, None, "one may be chance");
            scan.found(vec![(0, (head, 0))]);
        }
        assert_eq!(bookmarks.scan(QUEUE).from, Some(vec![(0, (2, 0))]));
        bookmarks.scan(QUEUE).found(vec![(0, (7, 0))]);
        bookmarks.scan(QUEUE).found(Vec::new());
        assert_eq!(bookmarks.scan(QUEUE).from, Some(vec![(0, (7, 0))]), "it moves on with what is found");
        assert_eq!(bookmarks.scan(Queue::Leased).from, None, "each queue has its own");
        bookmarks.bookmarks().get_mut(&QUEUE).unwrap().until = Instant::now();
        bookmarks.long = Duration::MAX;
        let scan = bookmarks.scan(QUEUE);
        assert_eq!(scan.from, None, "after a while it looks from the start");
        scan.found(vec![(0, (3, 0))]);
        assert!(bookmarks.bookmarks().is_empty());
        bookmarks.long = Duration::ZERO;
        bookmarks.scan(QUEUE).disable();
        (0..5).for_each(|_| bookmarks.scan(QUEUE).found(vec![(0, (1, 0))]));
        assert_eq!(bookmarks.scan(QUEUE).from, None, "disabled");
        bookmarks.bookmarks().get_mut(&QUEUE).unwrap().until = Instant::now();
        bookmarks.scan(Queue::Leased).disable();
        assert_eq!(bookmarks.bookmarks().len(), 1, "of a run that is over nothing is kept");
    }
}
