//! Views that ClickHouse answers: with the numbers and items of the copy, and the rows of the database. It answers when
//! it has everything that happened before the question, and nothing of the job waits or runs: inputs of items without a
//! result are not in the copy. Otherwise the database answers, and the view says why.

use std::collections::BTreeMap;

use windrow_analytics::{Copied, Failure, Trial};
use windrow_model::ItemId;
use windrow_model::record::Job;
use windrow_results::{Condition, Name, Names, ResultRow, Seen, summary};
use windrow_wire::{ColumnView, ResultView, TableRow, TrialOutcome, VariantView, ViewRequest};

use crate::app::actor::Actor;
use crate::app::views::question::{self, Baseline, Question};
use crate::app::views::scan::{self, Scan};
use crate::app::views::{COMPLETED, ViewHead, new_id};
use crate::app::{App, analytics};
use crate::error::{Code, Error, Result};

const PAGE: usize = 500;
/// Rows that are compared with others: the test of differences takes every finding of both sides.
const COMPARED: i64 = 100_000;

/// What came of asking ClickHouse.
pub enum Answer<T> {
    Copy(T),
    /// Why the database has to answer; `None` where nobody expects otherwise.
    Database(Option<String>),
}

/// The items of a view, in order.
pub struct Snapshot {
    job: Job,
    run: Option<i64>,
    copy: Copied,
    baseline: Option<(Job, Option<i64>)>,
    pub items: Vec<ItemId>,
}

macro_rules! or_database {
    ($answer:expr) => {
        match $answer {
            Ok(answer) => answer,
            Err(failure) => return Ok(failed(&failure)),
        }
    };
}

fn failed<T>(failure: &Failure) -> Answer<T> {
    Answer::Database(Some(format!("answered from the database: {failure}")))
}

/// The results of a job, or what one run made of its items.
async fn open(app: &App, job: &Job, no: Option<i64>) -> Result<Answer<Copied>> {
    if app.clickhouse().is_none() {
        return Ok(Answer::Database(None));
    }
    let without = |why: &str| Ok(Answer::Database(Some(format!("answered from the database: {why}"))));
    let runs = app.store.runs(job.id).await?;
    let run = match no {
        Some(no) => Some(runs.iter().find(|run| run.no == no).ok_or_else(|| scan::no_run(app, job, no))?),
        None => None,
    };
    if runs.iter().any(|run| !run.state.is_final()) {
        return without("a run of the job is active");
    }
    let client = match analytics::current(app).await {
        Ok(client) => client,
        Err(why) => return Ok(Answer::Database(Some(why))),
    };
    match or_database!(Copied::open(client, job, run.map(|run| run.id)).await) {
        None => without("ClickHouse does not have the job"),
        Some(copy) if copy.waiting() > 0 => without("items of the job wait"),
        // People talk about items, not about what one run made of them.
        Some(copy) if run.is_some() && copy.is_labelled() => without("the job has labels"),
        Some(copy) => Ok(Answer::Copy(copy)),
    }
}

pub async fn view(
    app: &App,
    actor: &Actor,
    job: &Job,
    request: &ViewRequest,
) -> Result<Answer<(ResultView, Snapshot)>> {
    let as_of = app.store.outbox_reach().await?.newest;
    let mut copy = match open(app, job, request.run).await? {
        Answer::Copy(copy) => copy,
        Answer::Database(why) => return Ok(Answer::Database(why)),
    };
    let (mut vs, mut baseline) = (None, None);
    if request.vs.is_some() && copy.rows() > COMPARED {
        let why = format!("answered from the database: more than {COMPARED} rows are compared");
        return Ok(Answer::Database(Some(why)));
    }
    if let Some(asked) = &request.vs {
        let (name, found) = question::named_baseline(app, actor, job, &copy.names().variants, asked).await?;
        vs = Some(name);
        copy = match found {
            Baseline::Variant(variant) => {
                baseline = Some((job.clone(), request.run));
                copy.clone().against(copy, Some(&variant))
            }
            Baseline::Run(other, no) => {
                let before = match open(app, &other, Some(no)).await? {
                    Answer::Copy(before) => before,
                    Answer::Database(why) => return Ok(Answer::Database(why)),
                };
                baseline = Some((*other, Some(no)));
                copy.against(before, None)
            }
        };
    }
    let asked = question::parse(request, copy.names())?;
    if asked.names().any(|name| *name == Name::Removed) {
        let why = "answered from the database: ClickHouse does not have which rows left the dataset".to_owned();
        return Ok(Answer::Database(Some(why)));
    }
    let head = ViewHead { job: job.name.clone(), run: request.run, vs, as_of, behind: 0 };
    let (answer, items) = or_database!(answer(&copy, &asked, head).await);
    Ok(Answer::Copy((answer, Snapshot { job: job.clone(), run: request.run, copy, baseline, items })))
}

async fn answer(
    copy: &Copied,
    asked: &Question,
    head: ViewHead,
) -> std::result::Result<(ResultView, Vec<ItemId>), Failure> {
    let condition = asked.condition.as_ref();
    let items = copy.items(condition, &asked.order).await?;
    let facets: Vec<(Name, Option<Condition>)> =
        asked.facets.iter().map(|name| (name.clone(), condition_of(condition, name))).collect();
    let Names { variants, .. } = copy.names();
    let mut by_variant = match variants.is_empty() {
        true => BTreeMap::new(),
        false => copy.variants(condition).await?,
    };
    let variant = |name: &String| {
        let own = by_variant.remove(name).unwrap_or_default();
        VariantView::of(name, own.n, own.cost, own.metrics)
    };
    let view = ResultView {
        view: new_id(),
        job: head.job,
        run: head.run,
        vs: head.vs,
        as_of: head.as_of,
        behind: head.behind,
        total: items.len() as i64,
        rows_of_job: copy.rows(),
        columns: asked.columns.iter().map(ColumnView::of).collect(),
        header: copy.header(condition).await?,
        metrics: copy.metrics(condition).await?,
        variants: variants.iter().map(variant).collect(),
        facets: copy.facets(&facets).await?,
        groups: match &asked.group {
            Some(grouping) => Some(copy.groups(condition, grouping).await?),
            None => None,
        },
        source: super::CLICKHOUSE.to_owned(),
        notice: None,
    };
    Ok((view, items))
}

/// Of a facet: without the tests of its own name.
fn condition_of(condition: Option<&Condition>, name: &Name) -> Option<Condition> {
    let condition = condition?;
    match condition.names().contains(&name) {
        true => condition.without(name),
        false => Some(condition.clone()),
    }
}

impl Snapshot {
    /// Rows as the database has them.
    pub async fn page(&self, app: &App, items: &[ItemId]) -> Result<Vec<TableRow>> {
        let gone = |failure: Failure| {
            Error::new(format!("the rows of the view cannot be read: {failure}"), "create the view again")
                .coded(Code::Gone)
        };
        let flaky = self.copy.flaky(items).await.map_err(gone)?;
        let pairs = self.copy.before(items).await.map_err(gone)?;
        let mut rows = read(app, &self.job, self.run, items.to_vec()).await?;
        rows.values_mut().for_each(|row| row.flaky = flaky.contains(&row.item));
        let before = match &self.baseline {
            Some((job, run)) => read(app, job, *run, pairs.values().copied().collect()).await?,
            None => BTreeMap::new(),
        };
        let trials = self.copy.trials(items).await.map_err(gone)?;
        let earlier: Vec<ItemId> = pairs.values().copied().collect();
        let trials_before = match self.copy.baseline() {
            Some(baseline) => baseline.trials(&earlier).await.map_err(gone)?,
            None => BTreeMap::new(),
        };
        let row = |item: &ItemId| {
            let baseline = pairs.get(item).and_then(|before_item| before.get(before_item));
            let mut shown = TableRow::of(&Seen { row: rows.get(item)?, baseline });
            shown.trials = outcomes(trials.get(item));
            if let (Some(before), Some(row)) = (&mut shown.baseline, baseline) {
                before.trials = outcomes(trials_before.get(&row.item));
            }
            Some(shown)
        };
        Ok(items.iter().filter_map(row).collect())
    }
}

fn outcomes(trials: Option<&Vec<Trial>>) -> Vec<TrialOutcome> {
    let outcome = |Trial { trial, item, outcome, .. }: &Trial| TrialOutcome {
        trial: *trial,
        item: item.to_string(),
        outcome: outcome.clone(),
    };
    trials.into_iter().flatten().map(outcome).collect()
}

async fn read(app: &App, job: &Job, run: Option<i64>, mut items: Vec<ItemId>) -> Result<BTreeMap<ItemId, ResultRow>> {
    items.sort_unstable();
    items.dedup();
    let runs = app.store.runs(job.id).await?;
    let scan = Scan::new(app, job, &runs, run, PAGE)?;
    let whole = scan::whole(app, job, &runs).await?.map_or(0, |(_, no)| no);
    let mut rows = BTreeMap::new();
    for page in items.chunks(PAGE) {
        for (detail, made) in scan.some(app, page).await? {
            let row = ResultRow::of(&detail, made.as_ref(), |run| scan.number_of(run));
            rows.insert(row.item, ResultRow { removed: scan.is_removed(&detail, whole), ..row });
        }
    }
    Ok(rows)
}

/// The names that can be asked for, and the values of those with few.
pub async fn fields(app: &App, job: &Job) -> Result<Answer<Vec<(Name, Vec<String>)>>> {
    let copy = match open(app, job, None).await? {
        Answer::Copy(copy) => copy,
        Answer::Database(why) => return Ok(Answer::Database(why)),
    };
    let names = copy.names().all();
    let listed: Vec<(Name, Option<Condition>)> =
        names.iter().filter(|name| super::lists_values(name)).map(|name| (name.clone(), None)).collect();
    let facets = or_database!(copy.facets(&listed).await);
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for facet in facets {
        if let summary::Facet::Values { field, values: found, other: 0, .. } = facet {
            values.insert(field, found.into_iter().take(COMPLETED).map(|value| value.value).collect());
        }
    }
    let with_values = |name: Name| {
        let values = values.remove(&name.to_string()).unwrap_or_default();
        (name, values)
    };
    Ok(Answer::Copy(names.into_iter().map(with_values).collect()))
}
