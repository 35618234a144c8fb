//! Plan and feed: a page of rows becomes items with a first try, and the cursor moves with them. A
//! row the job knows is queued again, skipped, or, as a duplicate, gets a key of its own.

use windrow_model::counters::Counters;
use windrow_model::record::Run;
use windrow_model::state::{ITEM, Mode, RunState};
use windrow_model::step::ContentKey;
use windrow_model::store::{NewItem, PlanPage, Planned, StoreError};
use windrow_model::{ItemId, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, Lookup, NewRows, params};
use crate::sql::codes::code;
use crate::sql::table::{journal, runs};
use crate::sql::verb::gathered::{Gathered, NewRow, Seen};
use crate::sql::verb::item_ids::ItemIds;
use crate::sql::verb::requeue::Requeued;

pub(crate) static CREATE: NewRows =
    NewRows::written("items", "id, job_id, run_id, ordinal, key, group_key, state, tries, wave", |_| {
        [format!("?1, ?2, ?3, ?4, ?5, ?6, {}, 1, ?7", code(ITEM.initial[0]))]
    });
pub(crate) static KEEP_INPUT: NewRows = NewRows::new("inputs", "item_id, body", "?1, ?2");
pub(crate) static BY_KEY: Lookup =
    Lookup::new("id, state, tries, run_id, ordinal", "items", "job_id = ?1 AND key = ?2", "");

pub(crate) fn plan_items(tx: &Connection, ids: &ItemIds, page: &PlanPage, now: Time) -> Result<Planned> {
    let run = runs::read_unlocked(tx, page.ticket)?;
    if run.planned || run.cursor != page.from || !run.state.dispatches() {
        return Ok(Planned { done: run.planned, ..Default::default() });
    }
    let mut intake = Intake::open(tx, &run, &page.items, now)?;
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
    Ok(Planned { done: page.done, ..planned })
}

pub(crate) fn feed_items(tx: &Connection, ids: &ItemIds, run: RunId, items: &[NewItem], now: Time) -> Result<Planned> {
    let run = runs::locked(tx, run)?;
    let open = matches!(run.state, RunState::Pending | RunState::Running | RunState::Paused);
    if run.mode != Mode::Online || run.planned || !open {
        return Err(StoreError::IntakeClosed.into());
    }
    let mut intake = Intake::open(tx, &run, items, now)?;
    for item in items {
        intake.take(item, true)?;
    }
    intake.write(ids)?.count()
}

/// Takes a page of rows in. What the job knows of them is read once at the start, what is new is written as sets.
struct Intake<'tx> {
    tx: &'tx Connection,
    run: &'tx Run,
    now: Time,
    next_ordinal: i64,
    planned: Planned,
    requeued: Requeued<'tx>,
    gathered: Gathered<'tx>,
}

impl<'tx> Intake<'tx> {
    fn open(tx: &'tx Connection, run: &'tx Run, items: &'tx [NewItem], now: Time) -> Result<Self> {
        tx.lock("jobs", [run.job.0])?;
        Ok(Self {
            tx,
            run,
            now,
            next_ordinal: tx
                .prepare_cached("SELECT next_ordinal FROM jobs WHERE id = ?1")?
                .query_row([run.job.0], |row| row.get(0))?,
            planned: Planned::default(),
            requeued: Requeued::default(),
            gathered: Gathered::read(tx, run, items)?,
        })
    }

    /// `skip_known` leaves every row alone that the job has seen.
    fn take(&mut self, new: &'tx NewItem, skip_known: bool) -> Result<()> {
        let mut key = new.key;
        for n in 2u64.. {
            if self.create(new, key)? {
                self.planned.created += 1;
                return Ok(());
            }
            if skip_known {
                self.planned.skipped += 1;
                return Ok(());
            }
            let Seen { item: known, run: last_run, .. } = self.gathered.known[&key];
            if last_run != self.run.id {
                let due_at = new.not_before.unwrap_or(self.now);
                let place = (self.run, self.place());
                self.requeued.add(place, &known, (new.priority, new.resource.as_deref()), due_at)?;
                self.requeued.regroup(known.id, new.group.as_ref());
                self.gathered.took_on(key, &known, self.run.id);
                self.planned.requeued += 1;
                return Ok(());
            }
            // A second row with the same content: it has a key of its own.
            key = repeated(new.key, n);
        }
        unreachable!("some number is free")
    }

    /// False if the job has an item with this key.
    fn create(&mut self, new: &'tx NewItem, key: ContentKey) -> Result<bool> {
        if self.gathered.knows(self.tx, self.run, key)? {
            return Ok(false);
        }
        // Its number within the page, until the page takes its ids.
        let id = ItemId(self.planned.created + 1);
        let (run, due_at) = (self.run, new.not_before.unwrap_or(self.now));
        let of_row = self.ordinal_of_row(new);
        let ordinal = of_row.unwrap_or(self.next_ordinal);
        let wave = run.wave_at(self.place());
        self.gathered.create(run, NewRow { id, ordinal, key, wave, due_at, new });
        self.next_ordinal += i64::from(of_row.is_none());
        Ok(true)
    }

    /// Of the next item among those of the run.
    fn place(&self) -> i64 {
        self.run.counters.total + self.planned.taken()
    }

    /// A further trial stands where its row stands.
    fn ordinal_of_row(&self, new: &NewItem) -> Option<i64> {
        let group = new.group.filter(|group| *group != new.key)?;
        self.gathered.known.get(&group).map(|seen| seen.ordinal)
    }

    /// Everything but what is the run's.
    fn write(self, ids: &ItemIds) -> Result<Written<'tx>> {
        let Self { tx, run, planned, mut requeued, mut gathered, .. } = self;
        requeued.send(tx)?;
        if planned.created > 0 {
            gathered.number_after(ids.take(tx, planned.created)?);
            gathered.send(tx, run)?;
            let changed = tx
                .prepare_cached("UPDATE jobs SET next_ordinal = ?2 WHERE id = ?1")?
                .execute([run.job.0, self.next_ordinal])?;
            expect_rows(changed, 1, "next ordinal of a job")?;
        }
        Ok(Written { tx, run: run.id, planned })
    }
}

/// The key of the `n`th row with this content, from the second on.
pub(crate) fn repeated(key: ContentKey, n: u64) -> ContentKey {
    ContentKey::of(&[&key.0, &n.to_le_bytes()])
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
