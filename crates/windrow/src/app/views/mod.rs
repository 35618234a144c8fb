//! Views of the result table: a filter, an order and a baseline, answered from a snapshot that pages do not outrun.
//! Views live in memory for ten minutes; a client asks again after that.

mod load;
pub mod question;
pub mod scan;

use std::sync::{Arc, Mutex, PoisonError};

use windrow_model::record::Job;
use windrow_model::{ItemId, JobId, Time};
use windrow_results::{Baseline, Name, Names, Seen, Table, summary};
use windrow_wire::{
    BaselineName, ColumnView, FieldList, FieldView, ResultView, TablePage, TableRow, VariantView, ViewRequest,
};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

const LIFE_MS: i64 = 10 * 60 * 1000;
/// The oldest is dropped when one more is made.
const MAX_VIEWS: usize = 64;
/// Values offered for completion.
const COMPLETED: usize = 50;

/// What is kept between a view and its pages.
#[derive(Default)]
pub struct Views {
    kept: Mutex<Vec<View>>,
    tables: Mutex<Vec<load::Loaded>>,
}

#[derive(Clone)]
struct View {
    id: String,
    job: JobId,
    made_at: Time,
    snapshot: Arc<Snapshot>,
}

struct Snapshot {
    table: Arc<Table>,
    baseline: Option<Baseline>,
    order: Vec<u32>,
}

impl Snapshot {
    fn seen(&self, places: &[u32]) -> Vec<Seen<'_>> {
        places.iter().map(|place| self.table.seen(*place, self.baseline.as_ref())).collect()
    }
}

impl Views {
    fn keep(&self, view: View) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.made_at + LIFE_MS > view.made_at);
        if kept.len() >= MAX_VIEWS {
            kept.remove(0);
        }
        kept.push(view);
    }

    fn find(&self, id: &str, job: JobId, now: Time) -> Option<Arc<Snapshot>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |view: &&View| view.id == id && view.job == job && view.made_at + LIFE_MS > now;
        kept.iter().find(fits).map(|view| view.snapshot.clone())
    }
}

pub async fn create(app: &App, actor: &Actor, job: &str, request: ViewRequest) -> Result<ResultView> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let as_of = app.store.outbox_reach().await?.newest;
    let table = load::table(app, &job, request.run, as_of).await?;
    let (vs, baseline) = match &request.vs {
        Some(vs) => {
            let (name, baseline) = question::baseline(app, actor, &job, &table, vs, as_of).await?;
            (Some(name), Some(baseline))
        }
        None => (None, None),
    };
    let names = Names { baseline: baseline.is_some(), ..table.names().clone() };
    let asked = question::parse(&request, &names)?;
    let order = table.select(baseline.as_ref(), asked.condition.as_ref(), asked.sort.as_ref());
    let snapshot = Arc::new(Snapshot { table, baseline, order });
    let answer = answer(&snapshot, &names, &asked, ViewHead { job: job.name.clone(), run: request.run, vs, as_of });
    let made_at = app.now();
    app.views.keep(View { id: answer.view.clone(), job: job.id, made_at, snapshot });
    Ok(answer)
}

/// The items of the rows for which a condition holds, in the order of the dataset.
pub async fn selection(app: &App, job: &Job, run: Option<i64>, condition: Option<&str>) -> Result<Vec<ItemId>> {
    let as_of = app.store.outbox_reach().await?.newest;
    let table = load::table(app, job, run, as_of).await?;
    let request = ViewRequest { r#where: condition.map(str::to_owned), ..Default::default() };
    let asked = question::parse(&request, table.names())?;
    let places = table.select(None, asked.condition.as_ref(), None);
    Ok(places.iter().map(|place| table.rows()[*place as usize].item).collect())
}

struct ViewHead {
    job: String,
    run: Option<i64>,
    vs: Option<BaselineName>,
    as_of: i64,
}

fn answer(snapshot: &Snapshot, names: &Names, asked: &question::Question, head: ViewHead) -> ResultView {
    let Snapshot { table, baseline, order } = snapshot;
    let rows = snapshot.seen(order);
    let facet = |name: &Name| {
        let rest = asked.condition.as_ref().and_then(|condition| condition.without(name));
        let rows = table.select(baseline.as_ref(), rest.as_ref(), None);
        summary::facet(&snapshot.seen(&rows), name)
    };
    ResultView {
        view: format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..)),
        job: head.job,
        run: head.run,
        vs: head.vs,
        as_of: head.as_of,
        behind: 0,
        total: order.len() as i64,
        rows_of_job: table.rows().len() as i64,
        columns: asked.columns.iter().map(ColumnView::of).collect(),
        header: summary::header(&rows),
        metrics: summary::metrics(&rows),
        variants: names.variants.iter().map(|name| variant(&rows, name)).collect(),
        facets: asked.facets.iter().map(facet).collect(),
        groups: asked.group.as_ref().map(|name| summary::groups(&rows, name)),
    }
}

fn variant(rows: &[Seen<'_>], name: &str) -> VariantView {
    let own: Vec<Seen<'_>> = rows.iter().copied().filter(|seen| seen.row.variant.as_deref() == Some(name)).collect();
    VariantView {
        name: name.to_owned(),
        target: own.first().and_then(|seen| seen.row.target()).map(str::to_owned),
        prompt: own.first().and_then(|seen| seen.row.prompt()).map(str::to_owned),
        n: own.len() as i64,
        cost: summary::header(&own).cost,
        metrics: summary::metrics(&own),
    }
}

/// A page of a view; 410 when it has expired.
pub async fn rows(app: &App, actor: &Actor, job: &str, view: &str, offset: usize, limit: usize) -> Result<TablePage> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let snapshot = app
        .views
        .find(view, job.id, app.now())
        .ok_or_else(|| Error::new(format!("view {view:?} has expired"), "create the view again").coded(Code::Gone))?;
    let order = &snapshot.order;
    let places = &order[offset.min(order.len())..offset.saturating_add(limit).min(order.len())];
    let rows = snapshot.seen(places).iter().map(TableRow::of).collect();
    Ok(TablePage { offset: offset as i64, total: order.len() as i64, rows })
}

/// The names that can be asked for, for completion.
pub async fn fields(app: &App, actor: &Actor, job: &str) -> Result<FieldList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let as_of = app.store.outbox_reach().await?.newest;
    let table = load::table(app, &job, None, as_of).await?;
    let places: Vec<u32> = (0..table.rows().len() as u32).collect();
    let rows: Vec<Seen<'_>> = places.iter().map(|place| table.seen(*place, None)).collect();
    let view = |name: &Name| FieldView {
        name: name.to_string(),
        kind: name.kind(),
        values: match name.words() {
            Some(words) => words.into_iter().map(str::to_owned).collect(),
            None => observed(&rows, name),
        },
    };
    Ok(FieldList { fields: table.names().all().iter().map(view).collect() })
}

fn observed(rows: &[Seen<'_>], name: &Name) -> Vec<String> {
    let listed = matches!(name, Name::Field(..) | Name::Variant | Name::Target | Name::Prompt);
    match summary::facet(rows, name) {
        summary::Facet::Values { values, other: 0, .. } if listed => {
            values.into_iter().take(COMPLETED).map(|value| value.value).collect()
        }
        _ => Vec::new(),
    }
}
