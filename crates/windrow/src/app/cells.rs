//! The cells of a job's table (T15, T16): pages of them by column and state, one with its record, and which items have
//! failed ones.

use std::collections::BTreeMap;

use serde_json::Value;
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::ItemFilter;
use windrow_model::{ItemId, RunId, suggest};
use windrow_results::cells::{self, Cell, CellColumn, CellState, Filled};
use windrow_results::row::text_of;
use windrow_wire::{CellList, CellPlace, CellView};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

/// Items read at once.
const PAGE: usize = 100;
/// Items read for one page at most: a filter may leave few of their cells.
const SCAN: usize = 10_000;
/// Items of a retry by column at most; they are named in the run.
const MOST: usize = 100_000;
/// The target of a job without `columns`, as a column.
const OUTPUT: &str = "output";

/// Which cells, as the caller wrote it.
#[derive(Debug, Clone, Copy, Default)]
pub struct CellListing<'a> {
    pub column: Option<&'a str>,
    pub state: Option<CellState>,
    pub after: Option<ItemId>,
    pub limit: usize,
}

/// A job as its cells see it.
pub struct CellTable {
    pipeline: String,
    columns: Vec<CellColumn>,
    runs: BTreeMap<RunId, Run>,
}

impl CellTable {
    pub async fn of(app: &App, job: &Job) -> Result<Self> {
        if job.kind != windrow_experiment::KIND {
            let what = format!("{} is an {} job and has no cells", job.name, job.kind);
            return Err(Error::new(what, "list its items instead").coded(Code::Conflict));
        }
        let runs: BTreeMap<RunId, Run> = app.store.runs(job.id).await?.into_iter().map(|run| (run.id, run)).collect();
        let spec = app.store.spec(&app.store.run(job.latest_run).await?.spec_hash).await?;
        let target = (!windrow_experiment::has_columns(&spec))
            .then(|| CellColumn { name: OUTPUT.to_owned(), filled: Filled::Target });
        let filled = |judges: bool| if judges { Filled::Evaluator } else { Filled::Column };
        let own = windrow_experiment::columns(&spec).into_iter();
        let own = own.map(|(name, judges)| CellColumn { name, filled: filled(judges) });
        Ok(Self { pipeline: pipeline_of(job), columns: target.into_iter().chain(own).collect(), runs })
    }

    fn check(&self, job: &Job, name: &str) -> Result<()> {
        let names = || self.columns.iter().map(|column| column.name.as_str());
        if names().any(|known| known == name) {
            return Ok(());
        }
        let help = match suggest::nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its columns are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let what = format!("{} has no column {name:?}", job.name);
        Err(Error::new(what, help).coded(Code::InvalidQuery).about("column"))
    }

    /// Attempts of an earlier definition say nothing about the cells of this one; a retry goes on with its own.
    fn cells(&self, detail: &ItemDetail) -> Vec<Cell> {
        let now = self.runs.get(&detail.item.run);
        cells::of(detail, &self.columns, |attempt| {
            let then = self.runs.get(&attempt.run);
            attempt.run == detail.item.run
                || now.zip(then).is_some_and(|(now, then)| {
                    now.mode == Mode::FailRetry && then.spec_hash == now.spec_hash && then.no < now.no
                })
        })
    }

    /// With whole values.
    pub fn views(&self, detail: &ItemDetail) -> Vec<CellView> {
        let input: Value = detail.input.parse().unwrap_or_default();
        let place = CellPlace {
            pipeline: &self.pipeline,
            item: detail.item.id.to_string(),
            key: detail.item.key.to_string(),
            row: detail.item.ordinal + 1,
            variant: detail.item.variant.clone(),
            trial: input["trial"].as_i64().unwrap_or(1),
        };
        self.cells(detail).into_iter().map(|cell| CellView::of(&place, cell)).collect()
    }
}

/// What a job is part of: its label `pipeline_id`, or itself.
fn pipeline_of(job: &Job) -> String {
    job.labels.extra.get("pipeline_id").map_or_else(|| job.name.clone(), text_of)
}

/// The cells of a job, by item and column.
pub async fn list(app: &App, actor: &Actor, job: &str, listing: CellListing<'_>) -> Result<CellList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let table = CellTable::of(app, &job).await?;
    listing.column.map_or(Ok(()), |name| table.check(&job, name))?;
    let (mut found, mut after, mut read) = (Vec::new(), listing.after, 0);
    loop {
        let filter = ItemFilter { job: job.id, run: None, state: None, after, limit: PAGE };
        let items: Vec<ItemId> = app.store.items(filter).await?.iter().map(|item| item.id).collect();
        let ended = items.len() < PAGE;
        read += items.len();
        for detail in app.store.details(items).await? {
            after = Some(detail.item.id);
            let cells = table.views(&detail).into_iter().filter(|cell| {
                listing.column.is_none_or(|name| cell.column == name)
                    && listing.state.is_none_or(|state| cell.state == state)
            });
            found.extend(cells.map(CellView::shortened));
            if found.len() >= listing.limit {
                return Ok(CellList { cells: found, next: after.map(|item| item.to_string()) });
            }
        }
        if ended || read >= SCAN {
            let next = after.filter(|_| !ended).map(|item| item.to_string());
            return Ok(CellList { cells: found, next });
        }
    }
}

/// One cell with its whole value and its record.
pub async fn show(app: &App, actor: &Actor, item: ItemId, column: &str) -> Result<CellView> {
    let (job, detail) = lookup::item(app, actor, item).await?;
    let table = CellTable::of(app, &job).await?;
    table.check(&job, column).map_err(|error| error.coded(Code::NotFound))?;
    let cell = table.views(&detail).into_iter().find(|cell| cell.column == column);
    let cell = cell.ok_or_else(|| Error::new(format!("no column {column:?}"), "").coded(Code::NotFound))?;
    let of = |id: &String| detail.steps.iter().find(|step| step.id.to_string() == *id);
    let made = |step: &windrow_model::record::Step| step.reused_from.and_then(|id| of(&id.to_string()));
    let record = cell.step.as_ref().and_then(of).map(|step| made(step).unwrap_or(step).into());
    Ok(CellView { record, ..cell })
}

/// The items that have a failed cell in one of these columns, and are among `chosen` where any are.
pub async fn items_with_failed(app: &App, job: &Job, columns: &[String], chosen: &[ItemId]) -> Result<Vec<ItemId>> {
    let table = CellTable::of(app, job).await?;
    columns.iter().try_for_each(|name| table.check(job, name))?;
    let judges =
        |name: &String| table.columns.iter().any(|column| column.name == *name && column.filled == Filled::Evaluator);
    // An item that an evaluator could not judge has succeeded.
    let states: &[ItemState] = match columns.iter().any(judges) {
        true => &[ItemState::Failed, ItemState::Succeeded],
        false => &[ItemState::Failed],
    };
    let failed = |detail: &ItemDetail| {
        let mut cells = table.cells(detail).into_iter();
        cells.any(|cell| cell.state == CellState::Failed && columns.contains(&cell.column))
    };
    let mut found = Vec::new();
    for state in states {
        let mut after = None;
        loop {
            let filter = ItemFilter { job: job.id, run: None, state: Some(*state), after, limit: PAGE };
            let page: Vec<ItemId> = app.store.items(filter).await?.iter().map(|item| item.id).collect();
            let (ended, last) = (page.len() < PAGE, page.last().copied());
            let wanted = page.into_iter().filter(|item| chosen.is_empty() || chosen.contains(item)).collect();
            let details = app.store.details(wanted).await?;
            found.extend(details.iter().filter(|detail| failed(detail)).map(|detail| detail.item.id));
            if found.len() > MOST {
                let what = format!("more than {MOST} items of {} have failed cells there", job.name);
                return Err(Error::new(what, "retry all failed items, without a column").coded(Code::Conflict));
            }
            if ended {
                break;
            }
            after = last;
        }
    }
    if found.is_empty() {
        let what = format!("nothing to retry: {} has no failed cells in {}", job.name, columns.join(", "));
        let help = format!("list them with `{}`", app.command(&format!("jobs cells {} --status failed", job.name)));
        return Err(Error::new(what, help).coded(Code::Conflict));
    }
    Ok(found)
}
