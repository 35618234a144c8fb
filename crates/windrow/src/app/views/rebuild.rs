//! A table read from the records again, and compared with what was shown until now. Nothing should ever differ.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use windrow_model::ItemId;
use windrow_model::counters::Counters;
use windrow_model::record::{Job, Run};
use windrow_model::state::ItemState;
use windrow_results::{Grid, ResultRow};
use windrow_wire::{RebuiltTable, RowDifference};

use crate::app::audit::Change;
use crate::app::views::{computed, held, kept, load};
use crate::app::{App, lookup};
use crate::error::Result;

/// Rows that are compared at once, and differences that are listed.
const PAGE: usize = 1_000;
const LISTED: usize = 20;
/// Tables that are checked at once.
const CHECKED: usize = 8;

/// Reads the table of a job again and says what differed. Tables of single runs are dropped; they are read when they
/// are asked for.
pub async fn rebuild(app: &App, change: &Change, job: &str) -> Result<RebuiltTable> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    let (before, after) = load::replace(app, &job).await?;
    let changed = match &before {
        Some(before) => held::changed(app, &job, before.newest).await?.map(|(items, _)| items),
        None => None,
    };
    let compared = changed.is_some();
    let (old, new) = (before.map(|held| held.grid).filter(|_| compared), after.grid.clone());
    let found = computed(move || compare(old.as_deref(), &new, &changed.unwrap_or_default())).await?;
    let Found { differing, differences, counters } = found.map_err(held::unreadable)?;
    Ok(RebuiltTable {
        job: job.name.clone(),
        rows: after.grid.len() as i64,
        compared,
        differing,
        differences,
        counters: miscounted(app, &job, &latest, &counters).await?,
    })
}

#[derive(Default)]
struct Found {
    differing: i64,
    differences: Vec<RowDifference>,
    counters: Counters,
}

impl Found {
    fn add(&mut self, item: ItemId, names: Vec<&str>) {
        if names.is_empty() {
            return;
        }
        self.differing += 1;
        if self.differences.len() < LISTED {
            let names = names.into_iter().map(str::to_owned).collect();
            self.differences.push(RowDifference { item: item.to_string(), names });
        }
    }
}

/// Every row of the new table against the old one, rows apart that changed since the old one was read.
fn compare(old: Option<&Grid>, new: &Grid, changed: &BTreeSet<ItemId>) -> io::Result<Found> {
    let mut found = Found::default();
    let slots: Vec<u32> = (0..new.len() as u32).collect();
    for page in slots.chunks(PAGE) {
        let rows = new.rows(page)?;
        rows.iter().for_each(|row| count(&mut found.counters, row.state));
        let Some(old) = old else { continue };
        let pairs: Vec<(&ResultRow, Option<u32>)> = rows.iter().map(|row| (row, old.slot_of(row.item))).collect();
        let before: Vec<u32> = pairs.iter().filter_map(|(_, slot)| *slot).collect();
        let mut before = old.rows(&before)?.into_iter();
        for (row, slot) in pairs {
            let before = slot.and_then(|_| before.next());
            if changed.contains(&row.item) {
                continue;
            }
            match before {
                Some(before) => found.add(row.item, differing(&before, row)),
                None => found.add(row.item, vec!["missing"]),
            }
        }
    }
    for slot in 0..old.map_or(0, Grid::len) as u32 {
        let item = old.map(|old| old.item(slot)).filter(|item| new.slot_of(*item).is_none());
        item.into_iter().filter(|item| !changed.contains(item)).for_each(|item| found.add(item, vec!["superfluous"]));
    }
    Ok(found)
}

fn count(counters: &mut Counters, state: ItemState) {
    counters.total += 1;
    *match state {
        ItemState::Queued => &mut counters.queued,
        ItemState::Succeeded => &mut counters.succeeded,
        ItemState::Failed => &mut counters.failed,
        ItemState::Cancelled => &mut counters.cancelled,
        ItemState::Skipped => &mut counters.skipped,
    } += 1;
}

/// The names under which two rows of an item differ.
fn differing(one: &ResultRow, other: &ResultRow) -> Vec<&'static str> {
    if one == other {
        return Vec::new();
    }
    let by_name = |row: &ResultRow| -> BTreeMap<(u32, String), String> {
        row.scores.iter().map(|score| ((score.turn, score.name.clone()), format!("{score:?}"))).collect()
    };
    let names = [
        ("row", (one.key, one.ordinal, one.trial) != (other.key, other.ordinal, other.trial)),
        ("variant", one.variant != other.variant),
        ("state", (one.state, one.run) != (other.state, other.run)),
        ("outcome", one.outcome != other.outcome),
        ("error", one.error != other.error),
        ("tries", (one.tries, one.turns) != (other.tries, other.turns)),
        ("flaky", one.flaky != other.flaky),
        ("removed", (one.planned, one.removed) != (other.planned, other.removed)),
        ("latency_ms", one.latency_ms != other.latency_ms),
        ("cost", one.usage != other.usage),
        ("finished_at", (one.finished_at, one.trace) != (other.finished_at, other.trace)),
        ("input", (&one.input, &one.expected, &one.fields) != (&other.input, &other.expected, &other.fields)),
        ("output", (&one.output, &one.outputs) != (&other.output, &other.outputs)),
        ("scores", by_name(one) != by_name(other)),
        ("labels", one.labels != other.labels),
    ];
    names.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Where the counters of a job at rest are not those of its rows.
async fn miscounted(app: &App, job: &Job, latest: &Run, rows: &Counters) -> Result<Vec<String>> {
    let now = app.store.job(job.id).await?;
    if !latest.state.is_final() || now.latest_run != latest.id {
        return Ok(Vec::new());
    }
    let all = &now.counters.all;
    let counts = [
        ("total", all.total, rows.total),
        ("queued", all.queued + all.running, rows.queued),
        ("succeeded", all.succeeded, rows.succeeded),
        ("failed", all.failed, rows.failed),
        ("cancelled", all.cancelled, rows.cancelled),
        ("skipped", all.skipped, rows.skipped),
    ];
    let differ = counts.into_iter().filter(|(_, counted, found)| counted != found);
    Ok(differ.map(|(name, counted, found)| format!("{name}: {counted} counted, {found} rows")).collect())
}

/// The kept tables that were opened last: whether their files are whole, and how many rows of a sample differ.
pub async fn check(app: &App, rows: usize) -> Result<Vec<Checked>> {
    let mut all = Vec::new();
    for (id, run, path) in kept::files(&app.tables()).into_iter().take(CHECKED) {
        let Ok(job) = app.store.job(id).await else { continue };
        let Some(held) = kept::peek(app, &job, run).await else {
            all.push(Checked { job: job.name, run, rows: 0, differing: None, path });
            continue;
        };
        let differing = held::sample(app, &job, run, &held, rows).await?.len();
        all.push(Checked { job: job.name, run, rows: rows.min(held.grid.len()), differing: Some(differing), path });
    }
    Ok(all)
}

/// A kept table that was checked.
pub struct Checked {
    pub job: String,
    pub run: Option<i64>,
    /// Rows that were compared.
    pub rows: usize,
    /// `None`: its file is damaged.
    pub differing: Option<usize>,
    pub path: std::path::PathBuf,
}
