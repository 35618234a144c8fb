//! Claim: as many queued tries as the run has free places, by rank, each with a lease. A try whose
//! resource is taken steps aside until the resource is free, and the search goes on behind it. Where the database
//! can, nodes that claim from one run at the same time pass over what the other is about to take, and hold the run
//! only at the end, to see that its limits still allow it all; elsewhere one waits for the other.

use std::collections::{HashSet, VecDeque};

use windrow_model::counters::Counters;
use windrow_model::priority::Priority;
use windrow_model::record::Run;
use windrow_model::state::{ATTEMPT, AttemptEvent, AttemptState};
use windrow_model::store::{Claim, Claimed, OVERDUE_MS};
use windrow_model::{AttemptId, Lease, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, Lookup, OptionalExtension, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{goal_code, guard, in_states, keyed_guard};
use crate::sql::table::attempts::Tries;
use crate::sql::table::{result_changes, runs};
use crate::sql::verb::scan_bookmarks::{self, ScanBookmarks};
use crate::sql::verb::sessions;

/// What was done longer ago than a lease and [`OVERDUE_MS`] is not read over.
pub(crate) static COUNT_RUNNING: Sql = Sql::new(|_| {
    let running = in_states(&[AttemptState::Running]);
    format!("SELECT count(*) FROM attempts WHERE run_id = ?1 AND {running} AND due_at > ?2")
});
/// The next priority of a wave that has anything queued.
pub(crate) static NEXT_LEVEL: Sql = Sql::new(|d| {
    let guard = guard(&ATTEMPT, AttemptEvent::Claim);
    format!(
        "SELECT priority FROM attempts{} WHERE run_id = ?1 AND wave = ?2 AND {guard} AND priority > ?3 \
         ORDER BY priority LIMIT 1",
        d.index("attempts_queued")
    )
});
pub(crate) static READY: Sql = Sql::new(|d| {
    let guard = guard(&ATTEMPT, AttemptEvent::Claim);
    format!(
        "SELECT id, due_at, fence, resource, retries, losses, throttled FROM attempts{} \
         WHERE run_id = ?1 AND wave = ?2 AND {guard} AND priority = ?3 AND due_at <= ?4 \
         AND (due_at, id) >= (?5, ?6) ORDER BY due_at, id LIMIT ?7",
        d.index("attempts_queued")
    )
});
/// What another node is about to take is not waited for.
pub(crate) static SKIP_TO_READY: Sql = Sql::new(|d| format!("{} FOR UPDATE SKIP LOCKED", READY.text(d)));
pub(crate) static HOLDER: Lookup = Lookup::written(|_| {
    let running = in_states(&[AttemptState::Running]);
    ["id, resource".into(), "attempts".into(), format!("{running} AND resource = ?1"), String::new()]
});
pub(crate) static TAKE: Change = Change::written("attempts", |d| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Claim), keyed_guard(d, &ATTEMPT, AttemptEvent::Claim));
    let set = format!("state = {goal}, fence = ?3, owner = ?4, due_at = ?5, started_at = ?6");
    [set, format!("id = ?1 AND fence = ?2 AND {guard}")]
});
pub(crate) static BLOCK: Change = Change::written("attempts", |d| {
    let (goal, guard) = (goal_code(&ATTEMPT, AttemptEvent::Block), keyed_guard(d, &ATTEMPT, AttemptEvent::Block));
    [format!("state = {goal}"), format!("id = ?1 AND {guard}")]
});
pub(crate) static ITEM_AND_INPUT: Lookup = Lookup::written(|d| {
    let tables = format!("items i {}", d.each("inputs", "p", "p.item_id = i.id"));
    ["i.ordinal, i.key, p.body".into(), tables, "i.id = ?1".into(), String::new()]
});

struct Ready {
    id: AttemptId,
    due_at: Time,
    fence: i64,
    resource: Option<String>,
    tries: Tries,
}

pub(crate) fn claim(tx: &Connection, bookmarks: &ScanBookmarks, claim: &Claim, now: Time) -> Result<Vec<Claimed>> {
    sessions::live_session(tx, claim.session)?;
    let run = if tx.skips_locked() { runs::run(tx, claim.run)? } else { runs::locked(tx, claim.run)? };
    let want = claim.want.min(free_places(tx, &run, claim.want, 0, now)?);
    if want == 0 {
        return Ok(Vec::new());
    }
    let mut queue = Queue::open(tx, bookmarks, (run.id, run.stage.wave), now, want)?;
    let (mut taken, mut blocked) = (Vec::with_capacity(want), Vec::new());
    while taken.len() < want {
        let Some(next) = queue.pop()? else { break };
        if next.resource.as_ref().is_some_and(|resource| queue.held.contains(resource)) {
            blocked.push([Cell::Int(next.id.0)]);
            continue;
        }
        queue.held.extend(next.resource.clone());
        taken.push(next);
    }
    expect_rows(tx.execute_many(&BLOCK, &blocked)?, blocked.len(), "blocked attempts")?;
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let (owner, until) = (claim.session.0, now.0 + claim.lease_ms);
    let row = |next: &&Ready| [next.id.0, next.fence, next.fence + 1, owner, until, now.0].map(Cell::Int);
    // Nodes that take the same resources at the same time do so in one order: the second finds those of the first.
    let mut in_order: Vec<&Ready> = taken.iter().collect();
    in_order.sort_by(|one, next| one.resource.cmp(&next.resource));
    let changed = tx.execute_many(&TAKE, &in_order.iter().map(row).collect::<Vec<_>>())?;
    expect_rows(changed, taken.len(), "claimed attempts")?;
    let claimed = describe(tx, run.id, &taken)?;
    if tx.skips_locked() {
        let held = runs::locked(tx, run.id)?;
        let free = free_places(tx, &held, taken.len(), taken.len(), now)?;
        if held.stage.wave != run.stage.wave || free < taken.len() {
            return Err(backend::Error::Overtaken.into());
        }
    }
    result_changes::note(tx, run.job, taken.iter().map(|next| next.id.item()))?;
    let moved = claimed.len() as i64;
    runs::move_counters(tx, run.id, &Counters { queued: -moved, running: moved, ..Default::default() })?;
    Ok(claimed)
}

/// How many of `want` the run allows, `taken` not counted.
fn free_places(tx: &Connection, run: &Run, want: usize, taken: usize, now: Time) -> Result<usize> {
    if !run.state.dispatches() {
        return Ok(0);
    }
    // What was handed in and is not archived yet is among its running ones, so that at least so many places are free.
    let mut free = run.limits.concurrency - run.counters.running;
    if free < want as i64 {
        let since = now.0 - OVERDUE_MS;
        let running: i64 = tx.prepare_cached(&COUNT_RUNNING)?.query_row([run.id.0, since], |row| row.get(0))?;
        free = run.limits.concurrency - (running - taken as i64);
    }
    Ok(usize::try_from(free.min(run.position().may_start(now))).unwrap_or(0))
}

fn describe(tx: &Connection, run: RunId, taken: &[Ready]) -> Result<Vec<Claimed>> {
    let items: Vec<[Cell; 1]> = taken.iter().map(|next| [Cell::Int(next.id.item().0)]).collect();
    let mut claimed: Vec<Option<Claimed>> = taken.iter().map(|_| None).collect();
    tx.query_many(&ITEM_AND_INPUT, &items, |n, row| {
        let (next, mut c) = (&taken[n], Cells::of(row));
        let fence = next.fence + 1;
        claimed[n] = Some(Claimed {
            lease: Lease { run, attempt: next.id, fence },
            ordinal: c.get()?,
            key: c.key()?,
            input: c.json()?,
            retries: next.tries.retries,
            losses: next.tries.losses,
            throttled: next.tries.throttled,
            has_history: next.id.no() > 1 || fence > 1,
        });
        Ok(())
    })?;
    let claimed: Vec<Claimed> = claimed.into_iter().flatten().collect();
    expect_rows(claimed.len(), taken.len(), "items of claimed attempts")?;
    Ok(claimed)
}

/// The queue of the run's open wave, merged by rank from its priorities: each is one range of the index, read in pages.
struct Queue<'tx> {
    tx: &'tx Connection,
    wave: (RunId, i64),
    now: Time,
    page: usize,
    levels: Vec<Level>,
    /// Resources that somebody has.
    held: HashSet<String>,
}

struct Level {
    priority: Priority,
    ready: VecDeque<Ready>,
    /// The first that was not read.
    next: (i64, i64),
    drained: bool,
}

impl<'tx> Queue<'tx> {
    fn open(
        tx: &'tx Connection,
        bookmarks: &ScanBookmarks,
        (run, wave): (RunId, i64),
        now: Time,
        page: usize,
    ) -> Result<Self> {
        let scan = bookmarks.scan(scan_bookmarks::Queue::Waiting { run, wave });
        let levels = match &scan.from {
            Some(heads) => heads.iter().filter_map(|(level, head)| Level::at(*level, *head)).collect(),
            None => Level::all(tx, (run, wave))?,
        };
        let mut queue = Self { tx, wave: (run, wave), now, page, levels, held: HashSet::new() };
        queue.fill()?;
        // Whoever waited for a resource returns to his old place, which must be seen at once.
        if queue.ready().any(|next| next.resource.is_some()) {
            scan.disable();
        } else {
            scan.found(queue.levels.iter().filter_map(Level::head).collect());
        }
        Ok(queue)
    }

    fn fill(&mut self) -> Result<()> {
        let (tx, wave, now, page) = (self.tx, self.wave, self.now, self.page);
        let mut read = false;
        for level in &mut self.levels {
            read |= level.fill(tx, wave, now, page)?;
        }
        if !read {
            return Ok(());
        }
        let wanted: HashSet<&String> = self.ready().filter_map(|next| next.resource.as_ref()).collect();
        let wanted: Vec<[Cell; 1]> = wanted.into_iter().map(|resource| [Cell::Text(resource)]).collect();
        self.held.extend(held_resources(tx, &wanted)?);
        Ok(())
    }

    fn ready(&self) -> impl Iterator<Item = &Ready> {
        self.levels.iter().flat_map(|level| &level.ready)
    }

    fn pop(&mut self) -> Result<Option<Ready>> {
        self.fill()?;
        let head = |level: &Level| level.ready.front().map(|next| (level.priority.rank(next.due_at), next.id));
        let first = self.levels.iter_mut().filter(|level| !level.ready.is_empty()).min_by_key(|level| head(level));
        Ok(first.and_then(|level| level.ready.pop_front()))
    }
}

/// Those of the resources that an attempt holds. It stays locked until this transaction ends: whoever ends it and frees
/// its resource locks it first, and so sees what is blocked here. Two who take a free resource at the same time meet in a
/// unique index; the second is run again.
fn held_resources(tx: &Connection, wanted: &[[Cell; 1]]) -> Result<Vec<String>> {
    let mut locked = HashSet::new();
    loop {
        let mut holders: Vec<(i64, String)> = Vec::new();
        tx.query_many(&HOLDER, wanted, |_, row| {
            holders.push((row.get(0)?, row.get(1)?));
            Ok(())
        })?;
        let others: Vec<i64> = holders.iter().map(|(id, _)| *id).filter(|id| locked.insert(*id)).collect();
        if !tx.is_shared() || others.is_empty() {
            return Ok(holders.into_iter().map(|(_, resource)| resource).collect());
        }
        // While it was waited for it may have ended, and another may have taken the resource.
        tx.lock("attempts", others)?;
    }
}

impl Level {
    fn new(priority: Priority, next: (i64, i64)) -> Self {
        Self { priority, ready: VecDeque::new(), next, drained: false }
    }

    fn at(level: i64, next: (i64, i64)) -> Option<Self> {
        Priority::new(level).map(|priority| Self::new(priority, next))
    }

    fn all(tx: &Connection, (run, wave): (RunId, i64)) -> Result<Vec<Self>> {
        let (mut levels, mut above) = (Vec::new(), 0);
        let mut stmt = tx.prepare_cached(&NEXT_LEVEL)?;
        let mut next = |above: i64| stmt.query_row([run.0, wave, above], |row| Cells::of(row).priority()).optional();
        while let Some(priority) = next(above)? {
            above = priority.get();
            levels.push(Self::new(priority, (i64::MIN, i64::MIN)));
        }
        Ok(levels)
    }

    fn head(&self) -> Option<(i64, (i64, i64))> {
        self.ready.front().map(|first| (self.priority.get(), (first.due_at.0, first.id.0)))
    }

    /// Whether there was anything to read.
    fn fill(&mut self, tx: &Connection, (run, wave): (RunId, i64), now: Time, page: usize) -> Result<bool> {
        if self.drained || !self.ready.is_empty() {
            return Ok(false);
        }
        let mut stmt = tx.prepare_cached(if tx.skips_locked() { &SKIP_TO_READY } else { &READY })?;
        let (due_at, id) = self.next;
        let range = params![run.0, wave, self.priority.get(), now.0, due_at, id, page as i64];
        let found = stmt.query_map(range, |row| {
            let mut c = Cells::of(row);
            Ok(Ready {
                id: AttemptId(c.get()?),
                due_at: c.time()?,
                fence: c.get()?,
                resource: c.get()?,
                tries: Tries::read(&mut c)?,
            })
        })?;
        self.ready = found.collect::<backend::Result<_>>()?;
        self.drained = self.ready.len() < page;
        if let Some(last) = self.ready.back() {
            self.next = (last.due_at.0, last.id.0 + 1);
        }
        Ok(!self.ready.is_empty())
    }
}
