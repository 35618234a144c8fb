//! Views of the result table: a filter, an order and a baseline, answered from a snapshot that pages do not outrun.
//! Views live for ten minutes in the memory of the node that made them; a client asks again after that. A question that
//! was answered before from the same tables has the same answer.

mod copy;
mod held;
mod kept;
mod load;
pub mod question;
pub mod rebuild;
pub mod scan;
mod shelf;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use windrow_model::compare::Comparison;
use windrow_model::record::Job;
use windrow_model::{ItemId, JobId, Time};
use windrow_results::summary::{self, Metric};
use windrow_results::{Grid, Name, Names, Pairs, Seen, Trial};
use windrow_wire::{
    BaselineName, ColumnView, FieldList, FieldView, ResultView, TablePage, TableRow, TrialOutcome, VariantView,
    ViewRequest,
};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

const LIFE_MS: i64 = 10 * 60 * 1000;
/// The oldest is dropped when one more is made.
const MAX_VIEWS: usize = 64;
/// Rows of all views and of their tables together.
const MAX_KEPT_ROWS: usize = 8_000_000;
/// Values offered for completion.
const COMPLETED: usize = 50;
/// Who answered.
const CLICKHOUSE: &str = "clickhouse";
const DATABASE: &str = "database";

/// What is kept between a view and its pages.
#[derive(Default)]
pub struct Views {
    kept: Mutex<Vec<View>>,
    tables: load::Tables,
}

#[derive(Clone)]
struct View {
    id: String,
    job: JobId,
    made_at: Time,
    request: ViewRequest,
    answer: Arc<ResultView>,
    rows: Rows,
}

/// The rows of a view, wherever they are.
#[derive(Clone)]
enum Rows {
    Table(Arc<Snapshot>),
    Copy(Arc<copy::Snapshot>),
}

impl Rows {
    fn table(&self) -> Option<&Arc<Grid>> {
        match self {
            Rows::Table(snapshot) => Some(&snapshot.table),
            Rows::Copy(_) => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Rows::Table(snapshot) => snapshot.order.len(),
            Rows::Copy(snapshot) => snapshot.items.len(),
        }
    }

    /// Where the page of so many rows begins that has this item.
    fn page_of(&self, item: ItemId, limit: usize) -> Option<usize> {
        let at = match self {
            Rows::Table(snapshot) => {
                let slot = snapshot.table.slot_of(item)?;
                snapshot.order.iter().position(|other| *other == slot)?
            }
            Rows::Copy(snapshot) => snapshot.items.iter().position(|other| *other == item)?,
        };
        Some(at / limit * limit)
    }
}

struct Snapshot {
    table: Arc<Grid>,
    pairs: Option<Pairs>,
    order: Vec<u32>,
    /// Where in `order` each row of the dataset begins.
    lines: OnceLock<Vec<u32>>,
}

impl Snapshot {
    fn is_of(&self, table: &Arc<Grid>, baseline: Option<&Arc<Grid>>) -> bool {
        let same = |pairs: &Pairs| baseline.is_some_and(|baseline| Arc::ptr_eq(pairs.grid(), baseline));
        Arc::ptr_eq(&self.table, table) && self.pairs.as_ref().map_or(baseline.is_none(), same)
    }

    fn page(&self, slots: &[u32]) -> io::Result<Vec<TableRow>> {
        let rows = self.table.rows(slots)?;
        let before: Vec<Option<u32>> = slots.iter().map(|slot| self.pairs.as_ref()?.of(*slot)).collect();
        let slots: Vec<u32> = before.iter().flatten().copied().collect();
        let mut others = match &self.pairs {
            Some(pairs) => pairs.grid().rows(&slots)?.into_iter(),
            None => Vec::new().into_iter(),
        };
        let page = rows.iter().zip(before).map(|(row, before)| {
            let baseline = before.and_then(|_| others.next());
            let mut shown = TableRow::of(&Seen { row, baseline: baseline.as_ref() });
            shown.trials = trials(&self.table, row.item);
            if let (Some(before), Some(pairs)) = (&mut shown.baseline, &self.pairs) {
                before.trials = baseline.map(|row| trials(pairs.grid(), row.item)).unwrap_or_default();
            }
            shown
        });
        Ok(page.collect())
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| lines_of(self.order.iter().map(|slot| Some(self.table.ordinal(*slot)))))
    }
}

/// Where each row of the dataset begins among items with these ordinals.
fn lines_of(ordinals: impl Iterator<Item = Option<i64>>) -> Vec<u32> {
    let mut before = None;
    let begins = ordinals.enumerate().filter(|(_, ordinal)| before.replace(*ordinal) != Some(*ordinal));
    begins.map(|(at, _)| at as u32).collect()
}

/// From and to which item such a page goes.
fn places(lines: &[u32], total: usize, offset: usize, limit: usize) -> std::ops::Range<usize> {
    let place = |line: usize| lines.get(line).map_or(total, |at| *at as usize);
    place(offset)..place(offset.saturating_add(limit))
}

/// A page of rows of the dataset with all their items, and how many rows there are.
async fn lines(app: &App, job: &Job, found: Rows, offset: usize, limit: usize) -> Result<(usize, Vec<TableRow>)> {
    match found {
        Rows::Table(snapshot) => {
            let page = move || -> io::Result<(usize, Vec<TableRow>)> {
                let lines = snapshot.lines();
                let slots = &snapshot.order[places(lines, snapshot.order.len(), offset, limit)];
                Ok((lines.len(), snapshot.page(slots)?))
            };
            computed(page).await?.map_err(held::unreadable)
        }
        // A copy has no places in the dataset; the table has.
        Rows::Copy(snapshot) => {
            let grid = load::table(app, job, None).await?.grid;
            let ordinal = |item: &ItemId| grid.slot_of(*item).map(|slot| grid.ordinal(slot));
            let lines = lines_of(snapshot.items.iter().map(ordinal));
            let items = &snapshot.items[places(&lines, snapshot.items.len(), offset, limit)];
            Ok((lines.len(), snapshot.page(app, items).await?))
        }
    }
}

/// Of a row with several.
fn trials(table: &Grid, item: ItemId) -> Vec<TrialOutcome> {
    let all = table.slot_of(item).map(|slot| table.trials(slot)).filter(|all| all.len() > 1);
    let outcome = |trial: Trial| TrialOutcome {
        trial: trial.trial,
        item: trial.item.to_string(),
        outcome: trial.outcome.to_string(),
    };
    all.into_iter().flatten().map(outcome).collect()
}

impl Views {
    fn keep(&self, view: View) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.made_at + LIFE_MS > view.made_at);
        kept.push(view);
        let rows = |kept: &[View]| {
            let size = |view: &View| Some(((view.job, view.request.run), view.rows.table()?.len()));
            let tables: BTreeMap<_, usize> = kept.iter().filter_map(size).collect();
            kept.iter().map(|view| view.rows.len()).sum::<usize>() + tables.values().sum::<usize>()
        };
        while kept.len() > MAX_VIEWS || (kept.len() > 1 && rows(&kept[..]) > MAX_KEPT_ROWS) {
            kept.remove(0);
        }
    }

    /// A view of the same tables that answered the same question.
    fn same(&self, job: JobId, request: &ViewRequest, table: &Arc<Grid>, baseline: Option<&Arc<Grid>>) -> Option<View> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of = |rows: &Rows| matches!(rows, Rows::Table(snapshot) if snapshot.is_of(table, baseline));
        let fits = |view: &&View| view.job == job && view.request == *request && is_of(&view.rows);
        kept.iter().find(fits).cloned()
    }

    fn find(&self, id: &str, job: JobId, now: Time) -> Option<Rows> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |view: &&View| view.id == id && view.job == job && view.made_at + LIFE_MS > now;
        kept.iter().find(fits).map(|view| view.rows.clone())
    }
}

/// On a thread where nobody waits.
async fn computed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|failed| Error::new(format!("the table failed: {failed}"), "try again"))
}

pub async fn create(app: &App, actor: &Actor, job: &str, request: ViewRequest) -> Result<ResultView> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let made_at = app.now();
    let notice = match copy::view(app, actor, &job, &request).await? {
        copy::Answer::Copy((answer, snapshot)) => {
            let (id, rows) = (answer.view.clone(), Rows::Copy(Arc::new(snapshot)));
            app.views.keep(View { id, job: job.id, made_at, request, answer: Arc::new(answer.clone()), rows });
            return Ok(answer);
        }
        copy::Answer::Database(notice) => notice,
    };
    let load::Shown { grid: table, as_of, behind } = load::table(app, &job, request.run).await?;
    let behind = behind as i64;
    let (vs, baseline, variant) = match &request.vs {
        Some(vs) => {
            let (name, baseline, variant) = question::baseline(app, actor, &job, &table, vs).await?;
            (Some(name), Some(baseline), variant)
        }
        None => (None, None, None),
    };
    let names = Names { baseline: baseline.is_some(), ..table.names().clone() };
    let asked = question::parse(&request, &names)?;
    let head = ViewHead { job: job.name.clone(), run: request.run, vs, as_of, behind };
    let view = match app.views.same(job.id, &request, &table, baseline.as_ref()) {
        Some(known) => {
            let answer = ResultView { view: new_id(), as_of, behind, ..ResultView::clone(&known.answer) };
            View { id: answer.view.clone(), made_at, answer: Arc::new(answer), ..known }
        }
        None => {
            let answered = move || -> io::Result<(ResultView, Snapshot)> {
                let pairs = baseline.map(|baseline| Pairs::new(&table, baseline, variant.as_deref()));
                let order = table.select(pairs.as_ref(), asked.condition.as_ref(), &asked.order)?;
                let snapshot = Snapshot { table, pairs, order, lines: OnceLock::new() };
                Ok((answer(&snapshot, &names, &asked, head)?, snapshot))
            };
            let (answer, snapshot) = computed(answered).await?.map_err(held::unreadable)?;
            let (id, rows) = (answer.view.clone(), Rows::Table(Arc::new(snapshot)));
            View { id, job: job.id, made_at, request, answer: Arc::new(answer), rows }
        }
    };
    let answer = ResultView { notice, ..ResultView::clone(&view.answer) };
    app.views.keep(view);
    Ok(answer)
}

fn new_id() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// Two runs or variants of them, compared from their tables; `None` unless both are in memory.
pub async fn compare(
    app: &App,
    before: (&Job, i64, Option<String>),
    after: (&Job, i64, Option<String>),
    limit: usize,
) -> Result<Option<Comparison>> {
    let tables = (load::known(app, before.0, before.1).await?, load::known(app, after.0, after.1).await?);
    let (Some(old), Some(new)) = tables else { return Ok(None) };
    let (from, to) = (before.2, after.2);
    computed(move || new.compare(&old, [from.as_deref(), to.as_deref()], limit)).await.map(Some)
}

/// The numbers of what one run made of its items.
pub async fn metrics_of_run(app: &App, job: &Job, run: i64) -> Result<Vec<Metric>> {
    let table = load::current(app, job, Some(run)).await?;
    computed(move || table.metrics(&(0..table.len() as u32).collect::<Vec<_>>(), None)).await
}

/// The items of the rows for which a condition holds, in the order of the dataset.
pub async fn selection(app: &App, job: &Job, run: Option<i64>, condition: Option<&str>) -> Result<Vec<ItemId>> {
    let table = load::current(app, job, run).await?;
    let request = ViewRequest { r#where: condition.map(str::to_owned), ..Default::default() };
    let asked = question::parse(&request, table.names())?;
    let items = move || -> io::Result<Vec<ItemId>> {
        let slots = table.select(None, asked.condition.as_ref(), &[])?;
        Ok(slots.iter().map(|slot| table.item(*slot)).collect())
    };
    computed(items).await?.map_err(held::unreadable)
}

/// Of a job that was deleted.
pub fn forget(app: &App, job: JobId) {
    kept::forget(&app.tables(), job);
}

struct ViewHead {
    job: String,
    run: Option<i64>,
    vs: Option<BaselineName>,
    as_of: i64,
    behind: i64,
}

fn answer(snapshot: &Snapshot, names: &Names, asked: &question::Question, head: ViewHead) -> io::Result<ResultView> {
    let Snapshot { table, pairs, order, .. } = snapshot;
    let pairs = pairs.as_ref();
    let facet = |name: &Name| match &asked.condition {
        Some(condition) if condition.names().contains(&name) => {
            table.facet(&table.matching(pairs, condition.without(name).as_ref())?, name, pairs)
        }
        _ => table.facet(order, name, pairs),
    };
    Ok(ResultView {
        view: new_id(),
        job: head.job,
        run: head.run,
        vs: head.vs,
        as_of: head.as_of,
        behind: head.behind,
        total: order.len() as i64,
        rows_of_job: table.len() as i64,
        columns: asked.columns.iter().map(ColumnView::of).collect(),
        header: table.header(order),
        metrics: table.metrics(order, pairs),
        variants: names.variants.iter().map(|name| variant(snapshot, name)).collect(),
        facets: asked.facets.iter().map(facet).collect::<io::Result<_>>()?,
        groups: asked.group.as_ref().map(|by| table.groups(order, by, pairs)).transpose()?,
        source: DATABASE.to_owned(),
        notice: None,
    })
}

fn variant(snapshot: &Snapshot, name: &str) -> VariantView {
    let own = snapshot.table.of_variant(&snapshot.order, name);
    let metrics = snapshot.table.metrics(&own, snapshot.pairs.as_ref());
    VariantView::of(name, own.len() as i64, snapshot.table.header(&own).cost, metrics)
}

/// Which page of a view.
#[derive(Debug, Clone, Copy)]
pub enum Page {
    At(usize),
    /// The one that has this item; pages begin at multiples of their length.
    Of(ItemId),
    /// Rows of the dataset are counted, each with all its items, in a view in the order of the dataset.
    Lines(usize),
}

/// A page of a view; 410 when it has expired.
pub async fn rows(app: &App, actor: &Actor, job: &str, view: &str, page: Page, limit: usize) -> Result<TablePage> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let found = app.views.find(view, job.id, app.now()).ok_or_else(|| {
        let what = format!("view {view:?} has expired, or another node made it");
        Error::new(what, "create the view again, and read its pages from the node that answers").coded(Code::Gone)
    })?;
    let total = found.len();
    let offset = match page {
        Page::Lines(offset) => {
            let (total, rows) = lines(app, &job, found, offset, limit).await?;
            return Ok(TablePage { offset: offset as i64, total: total as i64, rows });
        }
        Page::At(offset) => offset,
        Page::Of(item) => found.page_of(item, limit).ok_or_else(|| {
            let what = format!("item {item} is not among the {total} rows of this view");
            Error::new(what, "ask without the filter").coded(Code::NotFound).about("item")
        })?,
    };
    let (from, to) = (offset.min(total), offset.saturating_add(limit).min(total));
    let rows = match found {
        Rows::Table(snapshot) => {
            let page = move || snapshot.page(&snapshot.order[from..to]);
            computed(page).await?.map_err(held::unreadable)?
        }
        Rows::Copy(snapshot) => snapshot.page(app, &snapshot.items[from..to]).await?,
    };
    Ok(TablePage { offset: offset as i64, total: total as i64, rows })
}

/// The names that can be asked for, for completion.
pub async fn fields(app: &App, actor: &Actor, job: &str) -> Result<FieldList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    if let copy::Answer::Copy(names) = copy::fields(app, &job).await? {
        let view = |(name, observed): (Name, Vec<String>)| {
            let values = name.words().map(|words| words.into_iter().map(str::to_owned).collect());
            FieldView { name: name.to_string(), kind: name.kind(), values: values.unwrap_or(observed) }
        };
        return Ok(FieldList { fields: names.into_iter().map(view).collect() });
    }
    let table = load::table(app, &job, None).await?.grid;
    let listed = move || -> io::Result<FieldList> {
        let slots: Vec<u32> = (0..table.len() as u32).collect();
        let view = |name: &Name| -> io::Result<FieldView> {
            let values = match name.words() {
                Some(words) => words.into_iter().map(str::to_owned).collect(),
                None => observed(&table, &slots, name)?,
            };
            Ok(FieldView { name: name.to_string(), kind: name.kind(), values })
        };
        Ok(FieldList { fields: table.names().all().iter().map(view).collect::<io::Result<_>>()? })
    };
    computed(listed).await?.map_err(held::unreadable)
}

fn lists_values(name: &Name) -> bool {
    matches!(name, Name::Field(..) | Name::Variant | Name::Target | Name::Prompt)
}

fn observed(table: &Grid, slots: &[u32], name: &Name) -> io::Result<Vec<String>> {
    if !lists_values(name) || table.takes_text(name) {
        return Ok(Vec::new());
    }
    Ok(match table.facet(slots, name, None)? {
        summary::Facet::Values { values, other: 0, .. } => {
            values.into_iter().take(COMPLETED).map(|value| value.value).collect()
        }
        _ => Vec::new(),
    })
}
