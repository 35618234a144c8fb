//! Plan and feed: a page of rows becomes items with a first try, and the cursor moves with them. A
//! row the job knows is queued again, skipped, or, as a duplicate, gets a key of its own. A run that reads its source
//! from the start numbers the rows as they are now.

use std::collections::HashMap;

use windrow_model::counters::Counters;
use windrow_model::record::Run;
use windrow_model::state::{Mode, RunState};
use windrow_model::step::ContentKey;
use windrow_model::store::{NewItem, PlanPage, Planned, StoreError};
use windrow_model::{ItemId, JobId, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, params};
use crate::sql::table::{analytics_marks, journal, runs};
use crate::sql::verb::gathered::{Gathered, NewRow, Seen};
use crate::sql::verb::item_ids::{NewIds, Numbered, Start};
use crate::sql::verb::requeue::Requeued;

pub(crate) fn plan_items(tx: &Connection, ids: &NewIds, page: &PlanPage, now: Time) -> Result<Numbered> {
    let run = runs::read_unlocked(tx, page.ticket)?;
    if run.planned || run.cursor != page.from || !run.state.dispatches() {
        return Ok(Numbered::Done(Planned { done: run.planned, ..Default::default() }));
    }
    let last_item = match ids.start(tx, locked(tx, &run)?)? {
        Start::After(last) => last,
        Start::Behind(newest) => return Ok(Numbered::Behind(newest)),
    };
    let mut intake = Intake::open(tx, last_item, &run, &page.items, now)?.numbering(page.from.is_none());
    for item in &page.items {
        intake.take(item, run.mode == Mode::Append)?;
    }
    let written = intake.write(ids)?;
    let held = runs::check_ticket(tx, page.ticket)?;
    if (held.planned, &held.cursor, held.counters.total) != (false, &run.cursor, run.counters.total)
        || !held.state.dispatches()
    {
        return Err(backend::Error::Overtaken.into());
    }
    let planned = written.count()?;
    let changed = tx
        .prepare_cached("UPDATE runs SET cursor = ?3, planned = ?4 WHERE id = ?1 AND epoch = ?2 AND planned = 0")?
        .execute(params![run.id.0, run.epoch, page.to.as_ref().map(|to| to.as_str()), page.done])?;
    expect_rows(changed, 1, "cursor of a run")?;
    if page.done {
        journal::emit_planned(tx, &held, planned.created + planned.requeued, now)?;
    }
    Ok(Numbered::Done(Planned { done: page.done, ..planned }))
}

pub(crate) fn feed_items(tx: &Connection, ids: &NewIds, run: RunId, items: &[NewItem], now: Time) -> Result<Numbered> {
    let run = runs::locked(tx, run)?;
    let open = matches!(run.state, RunState::Pending | RunState::Running | RunState::Paused);
    if run.mode != Mode::Online || run.planned || !open {
        return Err(StoreError::IntakeClosed.into());
    }
    let last_item = match ids.start(tx, locked(tx, &run)?)? {
        Start::After(last) => last,
        Start::Behind(newest) => return Ok(Numbered::Behind(newest)),
    };
    let mut intake = Intake::open(tx, last_item, &run, items, now)?;
    for item in items {
        intake.take(item, true)?;
    }
    // No event tells of them.
    let created = (last_item + 1..=intake.last_item).map(|item| (run.job, Some(ItemId(item))));
    analytics_marks::mark(tx, created)?;
    Ok(Numbered::Done(intake.write(ids)?.count()?))
}

/// The job of the run, which stays locked.
fn locked(tx: &Connection, run: &Run) -> Result<JobId> {
    tx.lock("jobs", [run.job.0])?;
    Ok(run.job)
}

/// Takes a page of rows in. What the job knows of them is read once at the start, what is new is written as sets.
struct Intake<'tx> {
    tx: &'tx Connection,
    run: &'tx Run,
    now: Time,
    last_item: i64,
    next_ordinal: i64,
    /// Rows that the job knows are numbered again.
    renumbers: bool,
    /// Where the rows of this page stand.
    rows: HashMap<ContentKey, i64>,
    planned: Planned,
    requeued: Requeued<'tx>,
    gathered: Gathered<'tx>,
}

impl<'tx> Intake<'tx> {
    /// The job is locked.
    fn open(tx: &'tx Connection, last_item: i64, run: &'tx Run, items: &'tx [NewItem], now: Time) -> Result<Self> {
        let gathered = Gathered::read(tx, run, items)?;
        let place = |item: &NewItem| Some((item.group?, gathered.known.get(&item.key)?.ordinal));
        Ok(Self {
            rows: items.iter().rev().filter_map(place).collect(),
            tx,
            run,
            now,
            last_item,
            next_ordinal: tx
                .prepare_cached("SELECT next_ordinal FROM jobs WHERE id = ?1")?
                .query_row([run.job.0], |row| row.get(0))?,
            renumbers: false,
            planned: Planned::default(),
            requeued: Requeued::default(),
            gathered,
        })
    }

    /// The rows are those of the source in its order, from its start or from where the last page ended.
    fn numbering(self, from_start: bool) -> Self {
        let next_ordinal = if from_start { 0 } else { self.next_ordinal };
        Self { next_ordinal, renumbers: true, rows: HashMap::new(), ..self }
    }

    /// `skip_known` leaves every row alone that the job has seen.
    fn take(&mut self, new: &'tx NewItem, skip_known: bool) -> Result<()> {
        let mut key = new.key;
        let of_row = self.ordinal_of_row(new);
        let ordinal = of_row.unwrap_or(self.next_ordinal);
        self.rows.extend(new.group.map(|group| (group, ordinal)));
        self.check_id(new, ordinal)?;
        self.next_ordinal += i64::from(of_row.is_none() && self.renumbers);
        for n in 2u64.. {
            if self.create(new, key, ordinal)? {
                self.next_ordinal += i64::from(of_row.is_none() && !self.renumbers);
                self.planned.created += 1;
                return Ok(());
            }
            if skip_known {
                self.renumber(key, ordinal);
                self.planned.skipped += 1;
                return Ok(());
            }
            let Seen { item: known, .. } = self.gathered.known[&key];
            if known.run != self.run.id {
                let due_at = new.not_before.unwrap_or(self.now);
                let place = (self.run, self.place());
                self.requeued.add(place, &known, (new.priority, new.resource.as_deref()), due_at)?;
                self.requeued.regroup(known.id, new.group.as_ref());
                if new.by_id {
                    self.requeued.change_input(known.id, &new.input);
                }
                self.gathered.requeued(key, &known, self.run.id);
                self.renumber(key, ordinal);
                self.planned.requeued += 1;
                return Ok(());
            }
            // A second row with the same content: it has a key of its own.
            key = new.key.repeated(n);
        }
        unreachable!("some number is free")
    }

    /// A row that the job knows stands where the source has it now.
    fn renumber(&mut self, key: ContentKey, ordinal: i64) {
        if let Some(seen) = self.gathered.known.get_mut(&key).filter(|seen| self.renumbers && seen.ordinal != ordinal) {
            seen.ordinal = ordinal;
            self.requeued.renumber(seen.item.id, ordinal);
        }
    }

    /// False if the job has an item with this key.
    fn create(&mut self, new: &'tx NewItem, key: ContentKey, ordinal: i64) -> Result<bool> {
        if self.gathered.knows(self.tx, self.run, key)? {
            return Ok(false);
        }
        let id = ItemId(self.last_item + 1);
        let (run, due_at) = (self.run, new.not_before.unwrap_or(self.now));
        let wave = run.wave_at(self.place());
        self.gathered.create(run, NewRow { id, ordinal, key, wave, due_at, new });
        self.last_item = id.0;
        Ok(true)
    }

    /// Of the next item among those of the run.
    fn place(&self) -> i64 {
        self.run.counters.total + self.planned.taken()
    }

    /// A further item of a row stands where the row stands.
    fn ordinal_of_row(&self, new: &NewItem) -> Option<i64> {
        let group = new.group.filter(|group| *group != new.key)?;
        self.rows.get(&group).copied().or_else(|| self.gathered.known.get(&group).map(|seen| seen.ordinal))
    }

    /// Two rows of one source never have the same id. A row that is sent twice is the same row.
    fn check_id(&self, new: &NewItem, ordinal: i64) -> Result<()> {
        let taken = self.gathered.known.get(&new.key).filter(|seen| seen.item.run == self.run.id);
        match taken.filter(|_| new.by_id && self.renumbers) {
            Some(seen) => Err(StoreError::DuplicateId { first: seen.ordinal, second: ordinal }.into()),
            None => Ok(()),
        }
    }

    /// Everything but what is the run's.
    fn write(self, ids: &NewIds) -> Result<Written<'tx>> {
        let Self { tx, run, planned, mut requeued, .. } = self;
        self.gathered.send(tx, run)?;
        // Afterwards, because a row that the page has twice renumbers an item that was just created.
        requeued.send(tx, run.job)?;
        if planned.created > 0 {
            ids.used(tx, self.last_item)?;
        }
        if planned.created > 0 || self.renumbers {
            let changed = tx
                .prepare_cached("UPDATE jobs SET next_ordinal = ?2 WHERE id = ?1")?
                .execute([run.job.0, self.next_ordinal])?;
            expect_rows(changed, 1, "next ordinal of a job")?;
        }
        Ok(Written { tx, run: run.id, planned })
    }
}

/// Rows that were taken in and that the run's counters do not know yet.
struct Written<'tx> {
    tx: &'tx Connection,
    run: RunId,
    planned: Planned,
}

impl Written<'_> {
    fn count(self) -> Result<Planned> {
        let taken = self.planned.taken();
        runs::move_counters(self.tx, self.run, &Counters { total: taken, queued: taken, ..Default::default() })?;
        Ok(self.planned)
    }
}
