//! Plan and feed: a page of rows becomes items with a first try, and the cursor moves with them. A
//! row the job knows is queued again, skipped, or, as a duplicate, gets a key of its own.

use windrow_model::counters::Counters;
use windrow_model::record::Run;
use windrow_model::state::{ITEM, Mode, RunState};
use windrow_model::step::ContentKey;
use windrow_model::store::{NewItem, PlanPage, Planned, StoreError};
use windrow_model::{AttemptId, ItemId, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, OptionalExtension, Statement, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{Sql, code};
use crate::sql::lock;
use crate::sql::table::attempts;
use crate::sql::table::journal;
use crate::sql::table::runs;
use crate::sql::verb::gathered::{Gathered, NewRow};
use crate::sql::verb::requeue::{Known, Requeued};

/// Of an item that the job is known not to have. To look for its key once more would cost a third of the insert.
pub(crate) static CREATE_NEW: Sql = Sql::new(|| {
    format!(
        "INSERT INTO items (id, job_id, run_id, ordinal, key, group_key, state, tries, wave) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, {}, 1, ?7)",
        code(ITEM.initial[0])
    )
});
static CREATE: Sql = Sql::new(|| format!("{} ON CONFLICT (job_id, key) DO NOTHING", &**CREATE_NEW));
pub(crate) const KEEP_INPUT: &str = "INSERT INTO inputs (item_id, body) VALUES (?1, ?2)";
pub(crate) const BY_KEY: &str = "SELECT id, state, tries, run_id, ordinal FROM items WHERE job_id = ?1 AND key = ?2";

pub(crate) fn plan_items(tx: &Connection, page: &PlanPage, now: Time) -> Result<Planned> {
    let run = runs::foresee(tx, page.ticket)?;
    if run.planned || run.cursor != page.from || !run.state.dispatches() {
        return Ok(Planned { done: run.planned, ..Default::default() });
    }
    let mut intake = Intake::open(tx, &run, &page.items, now)?;
    for item in &page.items {
        intake.take(item, run.mode == Mode::Append)?;
    }
    let written = intake.write()?;
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

pub(crate) fn feed_items(tx: &Connection, run: RunId, items: &[NewItem], now: Time) -> Result<Planned> {
    let run = runs::locked(tx, run)?;
    let open = matches!(run.state, RunState::Pending | RunState::Running | RunState::Paused);
    if run.mode != Mode::Online || run.planned || !open {
        return Err(StoreError::IntakeClosed.into());
    }
    let mut intake = Intake::open(tx, &run, items, now)?;
    for item in items {
        intake.take(item, true)?;
    }
    intake.write()?.count()
}

/// Takes rows in, with the statements prepared once and the numbers written back once.
struct Intake<'tx> {
    tx: &'tx Connection,
    run: &'tx Run,
    now: Time,
    last_item: i64,
    next_ordinal: i64,
    planned: Planned,
    create: Statement<'tx>,
    keep_input: Statement<'tx>,
    queue: Statement<'tx>,
    requeued: Requeued<'tx>,
    /// `None` where each row is written at once.
    gathered: Option<Gathered<'tx>>,
}

impl<'tx> Intake<'tx> {
    fn open(tx: &'tx Connection, run: &'tx Run, items: &'tx [NewItem], now: Time) -> Result<Self> {
        tx.lock("jobs", [run.job.0])?;
        lock::sequence(tx, "items")?;
        let number = |sql: &str, id: i64| tx.prepare_cached(sql)?.query_row([id], |row| row.get(0));
        let last_item =
            tx.prepare_cached("SELECT last FROM sequences WHERE name = 'items'")?.query_row((), |row| row.get(0))?;
        Ok(Self {
            tx,
            run,
            now,
            last_item,
            next_ordinal: number("SELECT next_ordinal FROM jobs WHERE id = ?1", run.job.0)?,
            planned: Planned::default(),
            create: tx.prepare_cached(&CREATE)?,
            keep_input: tx.prepare_cached(KEEP_INPUT)?,
            queue: tx.prepare_cached(&attempts::QUEUE)?,
            requeued: Requeued::default(),
            gathered: if tx.is_shared() { Some(Gathered::read(tx, run, items)?) } else { None },
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
            let (known, last_run) = self.known(key)?;
            if last_run != self.run.id {
                let due_at = new.not_before.unwrap_or(self.now);
                let place = (self.run, self.place());
                self.requeued.add(place, &known, (new.priority, new.resource.as_deref()), due_at)?;
                self.requeued.regroup(known.id, new.group.as_ref());
                match &mut self.gathered {
                    Some(gathered) => gathered.took_on(key, &known, self.run.id),
                    // The next row may be the same and must see it.
                    None => self.requeued.send(self.tx)?,
                }
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
        if let Some(gathered) = &mut self.gathered
            && gathered.knows(self.tx, self.run, key)?
        {
            return Ok(false);
        }
        let id = ItemId(self.last_item + 1);
        let (run, due_at) = (self.run, new.not_before.unwrap_or(self.now));
        let of_row = self.ordinal_of_row(new)?;
        let ordinal = of_row.unwrap_or(self.next_ordinal);
        let group = new.group.map(|group| group.0);
        let wave = run.wave_at(self.place());
        match &mut self.gathered {
            Some(gathered) => gathered.create(run, NewRow { id, ordinal, key, wave, due_at, new }),
            None => {
                let row = params![id.0, run.job.0, run.id.0, ordinal, key.0, group, wave];
                if self.create.execute(row)? == 0 {
                    return Ok(false);
                }
                self.keep_input.execute(params![id.0, new.input.as_str()])?;
                let first = AttemptId::new(id, 1);
                let row = params![first.0, run.id.0, new.priority.get(), due_at.0, new.resource, 0, 0, 0, wave];
                self.queue.execute(row)?;
            }
        }
        self.last_item = id.0;
        self.next_ordinal += i64::from(of_row.is_none());
        Ok(true)
    }

    /// Of the next item among those of the run.
    fn place(&self) -> i64 {
        self.run.counters.total + self.planned.taken()
    }

    /// A further trial stands where its row stands.
    fn ordinal_of_row(&self, new: &NewItem) -> Result<Option<i64>> {
        let Some(group) = new.group.filter(|group| *group != new.key) else { return Ok(None) };
        if let Some(gathered) = &self.gathered {
            return Ok(gathered.known.get(&group).map(|seen| seen.ordinal));
        }
        let mut stmt = self.tx.prepare_cached("SELECT ordinal FROM items WHERE job_id = ?1 AND key = ?2")?;
        Ok(stmt.query_row(params![self.run.job.0, group.0], |row| row.get(0)).optional()?)
    }

    /// The item with this key, and the run that took it last.
    fn known(&self, key: ContentKey) -> Result<(Known, RunId)> {
        if let Some(seen) = self.gathered.as_ref().and_then(|gathered| gathered.known.get(&key)) {
            return Ok((seen.item, seen.run));
        }
        let mut stmt = self.tx.prepare_cached(BY_KEY)?;
        Ok(stmt.query_row(params![self.run.job.0, key.0], |row| {
            let mut c = Cells::of(row);
            let known = Known { id: ItemId(c.get()?), state: c.coded()?, tries: c.get()? };
            Ok((known, RunId(c.get()?)))
        })?)
    }

    /// Everything but what is the run's.
    fn write(self) -> Result<Written<'tx>> {
        let Self { tx, run, planned, mut requeued, .. } = self;
        requeued.send(tx)?;
        if let Some(gathered) = self.gathered {
            gathered.send(tx, run)?;
        }
        if planned.created > 0 {
            let changed =
                tx.prepare_cached("UPDATE sequences SET last = ?1 WHERE name = 'items'")?.execute([self.last_item])?;
            expect_rows(changed, 1, "last number of an item")?;
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
