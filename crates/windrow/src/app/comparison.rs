//! Two to ten runs or variants compared with the first of them, row by row: one use case for the command line, the API
//! and reports (E16).

use std::collections::{BTreeMap, HashMap};

use windrow_model::aggregate::ScoreSummary;
use windrow_model::compare::{self, Comparison, Flip};
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_model::store::RunPart;
use windrow_model::{ItemId, suggest};
use windrow_results::ResultRow;
use windrow_wire::{ChangedOutput, ComparedSide, ComparisonView, SideChange, SideMetric};

use crate::app::actor::Actor;
use crate::app::{App, definition, lookup, results};
use crate::error::{Code, Error, Result};

const SIDES: std::ops::RangeInclusive<usize> = 2..=10;

struct Side {
    job: Job,
    run: Run,
    variant: Option<String>,
}

impl Side {
    fn name(&self) -> String {
        let run = format!("{}#{}", self.job.name, self.run.no);
        self.variant.as_ref().map_or(run.clone(), |variant| format!("{run}@{variant}"))
    }

    fn part(&self) -> RunPart {
        RunPart { variant: self.variant.clone(), ..self.run.id.into() }
    }
}

/// Lists at most so many rows per side, evaluator and direction.
pub async fn compare(app: &App, actor: &Actor, names: &[String], rows: usize) -> Result<ComparisonView> {
    if !SIDES.contains(&names.len()) {
        let what = format!("{} runs given; 2 to 10 can be compared", names.len());
        return Err(Error::invalid("runs", what, "name them like JOB#1 JOB#2, or JOB@variant"));
    }
    let mut sides = Vec::new();
    for name in names {
        sides.push(side(app, actor, name).await?);
    }
    let mut found: Vec<Comparison> = Vec::new();
    for other in &sides[1..] {
        found.push(app.store.compare(sides[0].part(), other.part(), rows).await?);
    }
    compare::adjust(found.iter_mut());
    let mut changes = Vec::new();
    for (other, comparison) in sides[1..].iter().zip(found) {
        let rows = outputs(app, &sides[0], other, &comparison).await?;
        let definition = definition::changes(app, &sides[0].run, &other.run).await?;
        changes.push(SideChange { name: other.name(), comparison, definition, rows });
    }
    let mut views = Vec::new();
    for side in &sides {
        views.push(view(app, side).await?);
    }
    Ok(ComparisonView { sides: views, changes })
}

/// `JOB`, `JOB#RUN`, either with `@VARIANT`, or the id of a run.
async fn side(app: &App, actor: &Actor, text: &str) -> Result<Side> {
    let whole = lookup::run(app, actor, text).await;
    let Some((name, variant)) = text.rsplit_once('@').filter(|_| whole.is_err()) else {
        let (job, run) = whole?;
        return Ok(Side { job, run, variant: None });
    };
    let (job, run) = lookup::run(app, actor, name).await?;
    let aggregates = results::aggregates(app, &run).await?;
    let known: Vec<&String> = aggregates.variants.keys().collect();
    if known.iter().any(|known| *known == variant) {
        return Ok(Side { job, run, variant: Some(variant.to_owned()) });
    }
    let help = match suggest::nearest(variant, known.iter().map(|name| name.as_str())) {
        Some(near) => format!("did you mean `{name}@{near}`?"),
        None if known.is_empty() => "it has no variants; leave out `@`".to_owned(),
        None => format!("its variants are {}", known.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")),
    };
    Err(Error::new(format!("{name} has no variant {variant:?}"), help).coded(Code::NotFound).about("runs"))
}

async fn view(app: &App, side: &Side) -> Result<ComparedSide> {
    let whole = results::aggregates(app, &side.run).await?;
    let own = side.variant.as_ref().and_then(|variant| whole.variants.get(variant));
    let (evaluators, usage) = match own {
        Some(own) => (&own.evaluators, own.usage),
        None => (&whole.evaluators, whole.usage),
    };
    Ok(ComparedSide {
        name: side.name(),
        job: side.job.name.clone(),
        run: side.run.id.to_string(),
        no: side.run.no,
        variant: side.variant.clone(),
        metrics: evaluators.iter().map(|(name, summary)| (name.clone(), metric(summary))).collect::<BTreeMap<_, _>>(),
        cost: usage.cost_nanos as f64 / 1e9,
    })
}

fn metric(summary: &ScoreSummary) -> SideMetric {
    SideMetric {
        n: summary.pass + summary.fail,
        mean: summary.mean,
        interval: summary.mean_interval,
        pass_rate: summary.pass_rate,
        pass_interval: summary.pass_rate_interval,
    }
}

/// Both outputs of the rows that flipped.
async fn outputs(app: &App, before: &Side, after: &Side, found: &Comparison) -> Result<Vec<ChangedOutput>> {
    let flips: Vec<(&String, &str, &Flip)> = found
        .evaluators
        .iter()
        .flat_map(|(name, difference)| {
            let regressed = difference.broken_rows.iter().map(move |flip| (name, "regressed", flip));
            let fixed = difference.fixed_rows.iter().map(move |flip| (name, "fixed", flip));
            let fallen = difference.fallen_rows.iter().filter(|flip| !difference.broken_rows.contains(flip));
            regressed.chain(fixed).chain(fallen.map(move |flip| (name, "fell", flip)))
        })
        .collect();
    let old = rows(app, &before.run, flips.iter().map(|(_, _, flip)| flip.before)).await?;
    let new = rows(app, &after.run, flips.iter().map(|(_, _, flip)| flip.after)).await?;
    let changed = |(evaluator, change, flip): (&String, &str, &Flip)| {
        let (was, is) = (old.get(&flip.before)?, new.get(&flip.after)?);
        Some(ChangedOutput {
            evaluator: evaluator.clone(),
            change: change.to_owned(),
            row: flip.ordinal + 1,
            variant: flip.variant.clone(),
            item: flip.after.to_string(),
            input: is.input.clone(),
            expected: is.expected.clone(),
            before: was.output.clone(),
            after: is.output.clone(),
            before_value: flip.before_value,
            after_value: flip.after_value,
            reason: is.reason(evaluator).unwrap_or_default(),
        })
    };
    Ok(flips.into_iter().filter_map(changed).collect())
}

/// What a run made of these items, also where a later run has replaced it.
async fn rows(app: &App, run: &Run, items: impl Iterator<Item = ItemId>) -> Result<HashMap<ItemId, ResultRow>> {
    let items: std::collections::BTreeSet<ItemId> = items.collect();
    let mut found = HashMap::new();
    for detail in app.store.details(items.into_iter().collect()).await? {
        let made = made(app, run, &detail).await?;
        found.insert(detail.item.id, ResultRow::of(&detail, made.as_ref(), |_| run.no));
    }
    Ok(found)
}

async fn made(app: &App, run: &Run, detail: &ItemDetail) -> Result<Option<windrow_model::record::ItemResult>> {
    if detail.item.run == run.id {
        return Ok(None);
    }
    let after = Some(ItemId(detail.item.id.0 - 1));
    let results = app.store.results(run.id, after, 1).await?;
    Ok(results.into_iter().find(|result| result.item == detail.item.id))
}
