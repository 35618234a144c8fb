//! The table of a job in columns: segments of 8,192 rows. A row has a slot, which it keeps. What changed lies over its
//! segment as a row until an eighth of the segment has changed; then the segment is made anew. A table never changes: a
//! newer one shares the segments that are the same. Every answer is the one of [`crate::table::Table`] over the same
//! rows, which is the specification.

mod arrays;
mod at;
mod bytes;
mod compare;
mod facets;
mod numbers;
mod order;
mod pairs;
mod saved;
mod scores;
mod select;
mod sheet;
#[cfg(test)]
mod tests;
mod texts;
mod words;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, OnceLock};

use windrow_model::ItemId;

use crate::columns::arrays::Bits;
use crate::columns::at::At;
use crate::columns::sheet::{Sheet, TextName};
use crate::columns::texts::{BLOCK, Texts};
use crate::columns::words::Lexicon;
use crate::query::Names;
use crate::row::{ResultRow, RowOutcome};
use crate::table::survey::Found;

pub use pairs::Pairs;
pub use texts::{InMemory, Shelf};

/// Rows of a segment. Small in the tests of this crate, so that their tables have many.
pub const SEGMENT: usize = if cfg!(test) { 32 } else { 8_192 };
/// Changed rows that lie over a segment before it is made anew.
const MOST_CHANGED: usize = SEGMENT / 8;
/// Fewer rows than this at the end wait for more.
const FEW: usize = if cfg!(test) { 4 } else { 512 };

#[derive(Debug, Clone)]
struct Segment {
    sheet: Option<Arc<Sheet>>,
    /// By place in the segment.
    changed: BTreeMap<usize, Arc<ResultRow>>,
    len: usize,
    found: Found,
}

#[derive(Debug)]
pub struct Grid {
    shelf: Arc<dyn Shelf>,
    segments: Vec<Arc<Segment>>,
    lexicon: Lexicon,
    names: Names,
    /// Where each item is, unless slots are in the order of the items.
    places: Option<Arc<HashMap<i64, u32>>>,
    len: usize,
    /// Number of the last run over the whole dataset; 0: none.
    whole: i64,
    /// Of all versions with the same rows.
    by_key: Arc<OnceLock<ByKey>>,
    flaky: OnceLock<Option<Bits>>,
}

/// Slots by row and item, and whether several items are of one row.
#[derive(Debug)]
struct ByKey {
    slots: Vec<u32>,
    repeats: bool,
}

/// One answer to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    pub trial: i64,
    pub item: ItemId,
    pub outcome: RowOutcome,
}

impl Grid {
    pub fn empty(shelf: Arc<dyn Shelf>) -> Self {
        Self {
            shelf,
            segments: Vec::new(),
            lexicon: Lexicon::default(),
            names: Names::default(),
            places: None,
            len: 0,
            whole: 0,
            by_key: Arc::default(),
            flaky: OnceLock::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    pub fn item(&self, slot: u32) -> ItemId {
        self.at(slot).item()
    }

    pub fn ordinal(&self, slot: u32) -> i64 {
        self.at(slot).ordinal()
    }

    fn at(&self, slot: u32) -> At<'_> {
        let segment = &self.segments[slot as usize / SEGMENT];
        let at = slot as usize % SEGMENT;
        if !segment.changed.is_empty()
            && let Some(row) = segment.changed.get(&at)
        {
            return At::Row(row);
        }
        match &segment.sheet {
            Some(sheet) => At::Sheet(sheet, at),
            None => unreachable!("a row is in its sheet or over it"),
        }
    }

    /// Where an item is.
    pub fn slot_of(&self, item: ItemId) -> Option<u32> {
        if let Some(places) = &self.places {
            return places.get(&item.0).copied();
        }
        let segment = self.segments.partition_point(|segment| self.first_of(segment) <= item.0).checked_sub(1)?;
        let first = (segment * SEGMENT) as u32;
        let (mut low, mut high) = (first, first + self.segments[segment].len as u32);
        while low < high {
            let middle = low.midpoint(high);
            if self.item(middle) < item { low = middle + 1 } else { high = middle }
        }
        (low < first + self.segments[segment].len as u32 && self.item(low) == item).then_some(low)
    }

    fn first_of(&self, segment: &Segment) -> i64 {
        match (segment.changed.get(&0), &segment.sheet) {
            (Some(row), _) => row.item.0,
            (None, Some(sheet)) => sheet.item.number(0),
            (None, None) => i64::MAX,
        }
    }

    /// The number of the last run over the whole dataset; rows that it did not read are removed.
    pub fn whole(&self) -> i64 {
        self.whole
    }

    /// The same table after another run over the whole dataset.
    pub fn after_whole(&self, whole: i64) -> io::Result<Self> {
        Ok(Self { whole, ..self.with([])? })
    }

    /// The same table with these rows as they are now, and those that are new at its end.
    pub fn with(&self, rows: impl IntoIterator<Item = ResultRow>) -> io::Result<Self> {
        let mut next = Self {
            shelf: self.shelf.clone(),
            segments: self.segments.clone(),
            lexicon: self.lexicon.clone(),
            names: Names::default(),
            places: self.places.clone(),
            len: self.len,
            whole: self.whole,
            by_key: self.by_key.clone(),
            flaky: OnceLock::new(),
        };
        let mut touched = Vec::new();
        for row in rows {
            let slot = next.place(row);
            if touched.last() != Some(&(slot as usize / SEGMENT)) {
                touched.push(slot as usize / SEGMENT);
            }
            let segment = &next.segments[slot as usize / SEGMENT];
            if segment.len == SEGMENT && segment.changed.len() > MOST_CHANGED {
                next.settle(slot as usize / SEGMENT)?;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for segment in touched {
            next.settle(segment)?;
        }
        let mut found = Found::default();
        next.segments.iter().for_each(|segment| found.merge(&segment.found));
        next.names = found.names();
        Ok(next)
    }

    fn place(&mut self, row: ResultRow) -> u32 {
        let slot = self.slot_of(row.item).unwrap_or_else(|| self.new_slot(row.item));
        let known = (slot as usize) < self.len;
        if !known || self.at(slot).key() != row.key.0 {
            self.by_key = Arc::default();
        }
        self.len += usize::from(!known);
        if slot as usize / SEGMENT == self.segments.len() {
            let empty = Segment { sheet: None, changed: BTreeMap::new(), len: 0, found: Found::default() };
            self.segments.push(Arc::new(empty));
        }
        let segment = Arc::make_mut(&mut self.segments[slot as usize / SEGMENT]);
        segment.changed.insert(slot as usize % SEGMENT, Arc::new(row));
        segment.len = segment.len.max(slot as usize % SEGMENT + 1);
        slot
    }

    fn new_slot(&mut self, item: ItemId) -> u32 {
        let slot = self.len as u32;
        let ascends = slot == 0 || self.item(slot - 1) < item;
        if self.places.is_none() && !ascends {
            self.places = Some(Arc::new((0..slot).map(|slot| (self.item(slot).0, slot)).collect()));
        }
        if let Some(places) = &mut self.places {
            Arc::make_mut(places).insert(item.0, slot);
        }
        slot
    }

    /// After rows of a segment changed.
    fn settle(&mut self, no: usize) -> io::Result<()> {
        let segment = &self.segments[no];
        let (over, beyond) = match &segment.sheet {
            Some(sheet) => (segment.changed.len(), segment.len - sheet.len),
            None => (segment.changed.len(), segment.len),
        };
        let full = segment.len == SEGMENT && beyond > 0;
        if over > MOST_CHANGED || full || (segment.sheet.is_none() && segment.len >= FEW) {
            let rows = self.rows_of(no)?;
            let sheet = Sheet::of(&rows, &mut self.lexicon, &self.shelf)?;
            let segment = Arc::make_mut(&mut self.segments[no]);
            segment.changed.clear();
            segment.sheet = Some(Arc::new(sheet));
        }
        let segment = &self.segments[no];
        let mut found = match &segment.sheet {
            Some(sheet) => sheet.found(&self.lexicon, &segment.changed)?,
            None => Found::default(),
        };
        segment.changed.values().for_each(|row| found.add(row));
        Arc::make_mut(&mut self.segments[no]).found = found;
        Ok(())
    }

    fn rows_of(&self, no: usize) -> io::Result<Vec<Arc<ResultRow>>> {
        let (segment, mut reader) = (&self.segments[no], Reader::of(self));
        let row = |at: usize| match segment.changed.get(&at) {
            Some(row) => Ok(row.clone()),
            None => reader.plain_row((no * SEGMENT + at) as u32).map(Arc::new),
        };
        (0..segment.len).map(row).collect()
    }

    /// A row with its texts.
    pub fn row(&self, slot: u32) -> io::Result<ResultRow> {
        let mut row = Reader::of(self).plain_row(slot)?;
        (row.flaky, row.removed) = (self.is_flaky(slot), self.is_removed(slot));
        Ok(row)
    }

    /// The same of several, in their order, each block of texts taken once.
    pub fn rows(&self, slots: &[u32]) -> io::Result<Vec<ResultRow>> {
        let (mut reader, mut found) = (Reader::of(self), BTreeMap::new());
        let sorted: std::collections::BTreeSet<u32> = slots.iter().copied().collect();
        for slot in sorted {
            let mut row = reader.plain_row(slot)?;
            (row.flaky, row.removed) = (self.is_flaky(slot), self.is_removed(slot));
            found.insert(slot, row);
        }
        Ok(slots.iter().filter_map(|slot| found.get(slot).cloned()).collect())
    }

    /// Those of them that are of a variant.
    pub fn of_variant(&self, slots: &[u32], variant: &str) -> Vec<u32> {
        slots.iter().copied().filter(|slot| self.at(*slot).variant(&self.lexicon) == Some(variant)).collect()
    }

    fn slots_by_key(&self) -> &[u32] {
        &self.by_key().slots
    }

    fn by_key(&self) -> &ByKey {
        self.by_key.get_or_init(|| {
            let prefix = |key: [u8; 16]| u64::from_be_bytes(std::array::from_fn(|at| key[at]));
            let mut keyed: Vec<(u64, u32)> =
                (0..self.len as u32).map(|slot| (prefix(self.at(slot).key()), slot)).collect();
            keyed.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0).then_with(|| self.key_and_item(a.1).cmp(&self.key_and_item(b.1)))
            });
            let same = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0 && self.at(a.1).key() == self.at(b.1).key();
            let repeats = keyed.windows(2).any(|pair| same(&pair[0], &pair[1]));
            ByKey { slots: keyed.into_iter().map(|(_, slot)| slot).collect(), repeats }
        })
    }

    fn key_and_item(&self, slot: u32) -> ([u8; 16], ItemId) {
        let at = self.at(slot);
        (at.key(), at.item())
    }

    fn is_removed(&self, slot: u32) -> bool {
        ResultRow::is_removed(self.at(slot).planned(), self.whole)
    }

    fn find_flaky_once(&self) {
        self.flaky.get_or_init(|| self.find_flaky());
    }

    /// Trials of its row and variant have different outcomes.
    fn is_flaky(&self, slot: u32) -> bool {
        self.flaky.get_or_init(|| self.find_flaky()).as_ref().is_some_and(|bits| bits.get(slot as usize))
    }

    /// All trials of its row and variant, in order; only itself where there are no others.
    pub fn trials(&self, slot: u32) -> Vec<Trial> {
        let of = |slot: u32| {
            let at = self.at(slot);
            Trial { trial: at.trial(), item: at.item(), outcome: at.outcome() }
        };
        let by_key = self.by_key();
        if !by_key.repeats {
            return vec![of(slot)];
        }
        let (key, variant) = (self.at(slot).key(), self.at(slot).variant(&self.lexicon));
        let first = by_key.slots.partition_point(|other| self.at(*other).key() < key);
        let same = by_key.slots[first..].iter().take_while(|other| self.at(**other).key() == key);
        let own = same.filter(|other| self.at(**other).variant(&self.lexicon) == variant);
        let mut trials: Vec<Trial> = own.map(|other| of(*other)).collect();
        trials.sort_by_key(|trial| (trial.trial, trial.item));
        trials
    }

    fn find_flaky(&self) -> Option<Bits> {
        let mut flaky: Option<Bits> = None;
        if !self.by_key().repeats {
            return None;
        }
        for of_row in self.slots_by_key().chunk_by(|a, b| self.at(*a).key() == self.at(*b).key()) {
            if of_row.len() == 1 {
                continue;
            }
            let mut outcomes: HashMap<Option<&str>, (u8, bool)> = HashMap::new();
            let told = |slot: u32| self.at(slot).outcome();
            for slot in of_row.iter().filter(|slot| told(**slot).tells_of_output()) {
                let outcome = told(*slot) as u8;
                let known = outcomes.entry(self.at(*slot).variant(&self.lexicon)).or_insert((outcome, false));
                known.1 |= known.0 != outcome;
            }
            for slot in of_row {
                let differs = outcomes.get(&self.at(*slot).variant(&self.lexicon)).is_some_and(|known| known.1);
                if differs {
                    flaky.get_or_insert_with(|| Bits::new(self.len)).set(*slot as usize, true);
                }
            }
        }
        flaky
    }
}

/// Takes texts from the shelf, a block at a time.
struct Reader<'g> {
    grid: &'g Grid,
    block: (usize, usize),
    taken: BTreeMap<TextName, Option<Texts>>,
}

impl<'g> Reader<'g> {
    fn of(grid: &'g Grid) -> Self {
        Self { grid, block: (usize::MAX, 0), taken: BTreeMap::new() }
    }

    /// Of a row that is in its sheet.
    fn text(&mut self, slot: u32, name: &TextName) -> io::Result<Option<&str>> {
        let (segment, at) = (slot as usize / SEGMENT, slot as usize % SEGMENT);
        if self.block != (segment, at / BLOCK) {
            self.block = (segment, at / BLOCK);
            self.taken.clear();
        }
        if !self.taken.contains_key(name) {
            let sheet = self.grid.segments[segment].sheet.as_ref();
            let texts = sheet.map(|sheet| sheet.block(name, at / BLOCK)).transpose()?.flatten();
            self.taken.insert(name.clone(), texts);
        }
        Ok(self.taken.get(name).and_then(Option::as_ref).and_then(|texts| texts[at % BLOCK].as_deref()))
    }

    /// `flaky` and `removed` apart.
    fn plain_row(&mut self, slot: u32) -> io::Result<ResultRow> {
        let grid = self.grid;
        match grid.at(slot) {
            At::Row(row) => Ok(row.clone()),
            At::Sheet(sheet, at) => {
                sheet.row(at, &grid.lexicon, &mut |name| Ok(self.text(slot, name)?.map(str::to_owned)))
            }
        }
    }
}
