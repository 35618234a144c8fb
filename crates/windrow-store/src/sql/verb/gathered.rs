//! New items of a page that are gathered and sent as sets, where every statement would be a journey over the network.
//! The job is held, so that what it knows of the page's rows is read once at the start.

use std::collections::{HashMap, HashSet};

use windrow_model::record::Run;
use windrow_model::state::ITEM;
use windrow_model::step::ContentKey;
use windrow_model::store::NewItem;
use windrow_model::{AttemptId, ItemId, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Connection, Lookup, NewRows, OptionalExtension, Row, params};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::table::attempts::{NextTry, Tries};
use crate::sql::table::{attempts, result_changes};
use crate::sql::verb::requeue::Known;

pub(crate) static CREATE: NewRows =
    NewRows::written("items", "id, job_id, run_id, ordinal, key, group_key, state, tries, wave, variant", |_| {
        [format!("?1, ?2, ?3, ?4, ?5, ?6, {}, 1, ?7, ?8", code(ITEM.initial[0]))]
    });
pub(crate) static KEEP_INPUT: NewRows = NewRows::new("inputs", "item_id, body", "?1, ?2");
pub(crate) static BY_KEY: Lookup =
    Lookup::new("id, state, tries, run_id, ordinal", "items", "job_id = ?1 AND key = ?2", "");

#[derive(Default)]
pub(crate) struct Gathered<'a> {
    /// What the job knows of the rows of this page, these themselves included.
    pub known: HashMap<ContentKey, Seen>,
    /// What was asked for at the start.
    asked: HashSet<ContentKey>,
    rows: Vec<NewRow<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub item: Known,
    pub ordinal: i64,
}

pub(crate) struct NewRow<'a> {
    pub id: ItemId,
    pub ordinal: i64,
    pub key: ContentKey,
    pub wave: i64,
    pub due_at: Time,
    pub new: &'a NewItem,
}

impl<'a> Gathered<'a> {
    pub fn read(tx: &Connection, run: &Run, items: &[NewItem]) -> Result<Self> {
        let mut keys: Vec<ContentKey> = items.iter().flat_map(|item| [Some(item.key), item.group]).flatten().collect();
        let mut times: HashMap<ContentKey, u64> = HashMap::new();
        for item in items {
            let n = times.entry(item.key).or_default();
            *n += 1;
            keys.extend((*n > 1).then(|| item.key.repeated(*n)));
        }
        keys.sort_unstable();
        keys.dedup();
        let rows: Vec<[Cell; 2]> = keys.iter().map(|key| [Cell::Int(run.job.0), Cell::Blob(&key.0)]).collect();
        let mut known = HashMap::new();
        tx.query_many(&BY_KEY, &rows, |n, row| {
            known.insert(keys[n], seen(row)?);
            Ok(())
        })?;
        Ok(Self { known, asked: keys.into_iter().collect(), rows: Vec::new() })
    }

    /// Whether the job has an item with this key.
    pub fn knows(&mut self, tx: &Connection, run: &Run, key: ContentKey) -> Result<bool> {
        if self.known.contains_key(&key) || self.asked.contains(&key) {
            return Ok(self.known.contains_key(&key));
        }
        // It was made of another, because of a second row with the same content that an earlier page had.
        let found = tx.prepare_cached(&BY_KEY)?.query_row(params![run.job.0, key.0], seen).optional()?;
        Ok(found.map(|found| self.known.insert(key, found)).is_some())
    }

    pub fn create(&mut self, run: &Run, row: NewRow<'a>) {
        let item = Known { id: row.id, state: ITEM.initial[0], tries: 1, run: run.id };
        self.known.insert(row.key, Seen { item, ordinal: row.ordinal });
        self.rows.push(row);
    }

    /// What the job knew is this run's from now on.
    pub fn requeued(&mut self, key: ContentKey, before: &Known, run: RunId) {
        if let Some(seen) = self.known.get_mut(&key) {
            *seen = Seen { item: Known { tries: before.tries + 1, run, ..*before }, ..*seen };
        }
    }

    pub fn send(self, tx: &Connection, run: &Run) -> Result<()> {
        let items: Vec<_> = self.rows.iter().map(|row| row.item(run)).collect();
        let inputs: Vec<_> = self.rows.iter().map(NewRow::input).collect();
        let tries: Vec<_> = self.rows.iter().map(|row| row.first_try(run)).collect();
        expect_rows(tx.execute_many(&CREATE, &items)?, items.len(), "new items")?;
        expect_rows(tx.execute_many(&KEEP_INPUT, &inputs)?, inputs.len(), "inputs of new items")?;
        expect_rows(tx.execute_many(&attempts::QUEUE, &tries)?, tries.len(), "first tries of new items")?;
        result_changes::note(tx, run.job, self.rows.iter().map(|row| row.id))
    }
}

impl NewRow<'_> {
    fn item(&self, run: &Run) -> [Cell<'_>; 8] {
        [
            Cell::Int(self.id.0),
            Cell::Int(run.job.0),
            Cell::Int(run.id.0),
            Cell::Int(self.ordinal),
            Cell::Blob(&self.key.0),
            self.new.group.as_ref().map_or(Cell::Null, |group| Cell::Blob(&group.0)),
            Cell::Int(self.wave),
            self.new.variant.as_deref().map_or(Cell::Null, Cell::Text),
        ]
    }

    fn input(&self) -> [Cell<'_>; 2] {
        [Cell::Int(self.id.0), Cell::Text(self.new.input.as_str())]
    }

    fn first_try(&self, run: &Run) -> [Cell<'_>; 9] {
        let (id, priority, resource) = (AttemptId::new(self.id, 1), self.new.priority, self.new.resource.as_deref());
        let (due_at, tries) = (self.due_at, Tries::default());
        NextTry { id, run: run.id, wave: self.wave, priority, resource, due_at, tries }.row()
    }
}

fn seen(row: &Row) -> backend::Result<Seen> {
    let mut c = Cells::of(row);
    let item = Known { id: ItemId(c.get()?), state: c.coded()?, tries: c.get()?, run: RunId(c.get()?) };
    Ok(Seen { item, ordinal: c.get()? })
}
