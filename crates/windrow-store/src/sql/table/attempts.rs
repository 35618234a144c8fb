//! Rows of attempts: queueing a new one, reading one under its lease, and reading history.

use std::collections::HashMap;

use windrow_model::priority::Priority;
use windrow_model::record::Attempt;
use windrow_model::state::{ATTEMPT, AttemptState, Outcome};
use windrow_model::{AttemptId, ItemId, Lease, RunId, SessionId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, Lookup, NewRows, Row};
use crate::sql::cells::Cells;
use crate::sql::codes::code;

pub(crate) static QUEUE: NewRows = NewRows::written(
    "attempts",
    "id, run_id, state, priority, due_at, resource, retries, losses, throttled, wave",
    |_| [format!("?1, ?2, {}, ?3, ?4, ?5, ?6, ?7, ?8, ?9", code(ATTEMPT.initial[0]))],
);

/// A try about to be queued.
pub(crate) struct NextTry<'a> {
    pub id: AttemptId,
    pub run: RunId,
    pub wave: i64,
    pub priority: Priority,
    pub resource: Option<&'a str>,
    pub due_at: Time,
    pub tries: Tries,
}

impl<'a> NextTry<'a> {
    /// For [`QUEUE`].
    pub fn row(&self) -> [Cell<'a>; 9] {
        [
            Cell::Int(self.id.0),
            Cell::Int(self.run.0),
            Cell::Int(self.priority.get()),
            Cell::Int(self.due_at.0),
            self.resource.map_or(Cell::Null, Cell::Text),
            Cell::Int(self.tries.retries.into()),
            Cell::Int(self.tries.losses.into()),
            Cell::Int(self.tries.throttled.into()),
            Cell::Int(self.wave),
        ]
    }
}

/// How the earlier tries of an item in its run ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tries {
    pub retries: u32,
    pub losses: u32,
    pub throttled: u32,
}

impl Tries {
    /// From three cells in this order.
    pub fn read(c: &mut Cells) -> backend::Result<Self> {
        Ok(Self { retries: c.get()?, losses: c.get()?, throttled: c.get()? })
    }
}

/// What a worker's verbs need to know of an attempt.
#[derive(Clone)]
pub(crate) struct AttemptHead {
    pub id: AttemptId,
    pub run: RunId,
    pub wave: i64,
    pub fence: i64,
    pub state: AttemptState,
    pub outcome: Option<Outcome>,
    pub priority: Priority,
    pub resource: Option<String>,
    pub tries: Tries,
    /// The end of its lease, if it runs.
    pub due_at: Time,
}

impl AttemptHead {
    /// Run and fence are those of the lease; the state may have moved on.
    pub fn is_of(&self, lease: Lease) -> bool {
        self.run == lease.run && self.fence == lease.fence
    }

    /// The item's next try after this one.
    pub fn next(&self, tries: Tries, due_at: Time) -> NextTry<'_> {
        let (id, resource) = (AttemptId::new(self.id.item(), self.id.no() + 1), self.resource.as_deref());
        NextTry { id, run: self.run, wave: self.wave, priority: self.priority, resource, due_at, tries }
    }
}

pub(crate) const HEAD: &str =
    "id, run_id, wave, fence, state, outcome, priority, resource, retries, losses, throttled, due_at";
pub(crate) static READ: Lookup = Lookup::new(HEAD, "attempts", "id = ?1", "");

/// Those that exist, and nobody else writes to them until the transaction ends.
pub(crate) fn held(tx: &Connection, ids: impl Iterator<Item = AttemptId>) -> Result<HashMap<AttemptId, AttemptHead>> {
    let mut held = HashMap::new();
    let mut keep = |row: &Row| {
        let head = head_from(row)?;
        held.insert(head.id, head);
        Ok(())
    };
    if tx.is_shared() {
        tx.hold("attempts", HEAD, ids.map(|id| id.0), keep)?;
    } else {
        let ids: Vec<[Cell; 1]> = ids.map(|id| [Cell::Int(id.0)]).collect();
        tx.query_many(&READ, &ids, |_, row| keep(row))?;
    }
    Ok(held)
}

/// From the columns of [`HEAD`].
pub(crate) fn head_from(row: &Row) -> backend::Result<AttemptHead> {
    let mut c = Cells::of(row);
    Ok(AttemptHead {
        id: AttemptId(c.get()?),
        run: RunId(c.get()?),
        wave: c.get()?,
        fence: c.get()?,
        state: c.coded()?,
        outcome: c.maybe_coded()?,
        priority: c.priority()?,
        resource: c.get()?,
        tries: Tries::read(&mut c)?,
        due_at: c.time()?,
    })
}

pub(crate) static OF_ITEM: Lookup = Lookup::new(
    "id, run_id, wave, state, outcome, partial, priority, due_at, fence, owner, resource, retries, losses, throttled, \
     error_class, error_message, started_at, ended_at",
    "attempts",
    "id BETWEEN ?1 AND ?2",
    "id",
);

/// The attempts of each item, oldest first.
pub(crate) fn of_items(conn: &Connection, items: &[ItemId]) -> Result<Vec<Vec<Attempt>>> {
    let ranges = items.iter().map(|item| item.attempts()).map(|(first, last)| [first.0, last.0].map(Cell::Int));
    let mut found = vec![Vec::new(); items.len()];
    conn.query_many(&OF_ITEM, &ranges.collect::<Vec<_>>(), |n, row| {
        found[n].push(from_row(row)?);
        Ok(())
    })?;
    Ok(found)
}

fn from_row(row: &Row) -> backend::Result<Attempt> {
    let mut c = Cells::of(row);
    Ok(Attempt {
        id: AttemptId(c.get()?),
        run: RunId(c.get()?),
        wave: c.get()?,
        state: c.coded()?,
        outcome: c.maybe_coded()?,
        partial: c.get()?,
        priority: c.priority()?,
        due_at: c.time()?,
        fence: c.get()?,
        owner: c.get::<Option<i64>>()?.map(SessionId),
        resource: c.get()?,
        retries: c.get()?,
        losses: c.get()?,
        throttled: c.get()?,
        error: c.error()?,
        started_at: c.maybe_time()?,
        ended_at: c.maybe_time()?,
    })
}
