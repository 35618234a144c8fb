//! The numbers of a job from run to run, and where its definition changed (E16).

use std::collections::{BTreeMap, BTreeSet};

use windrow_model::aggregate::{Aggregates, Interval, LEVEL, ScoreSummary, wilson};
use windrow_model::record::{Job, Run};
use windrow_model::state::Mode;
use windrow_model::suggest;
use windrow_results::summary::{Corrected, Metric};
use windrow_wire::{Trend, TrendPoint, TrendRun, TrendView};

use crate::app::actor::Actor;
use crate::app::{App, definition, lookup, results, views};
use crate::error::{Code, Error, Result};

/// The newest runs that are shown.
const MOST: usize = 200;

/// Of all metrics, or of one.
pub async fn of_job(app: &App, actor: &Actor, job: &str, metric: Option<&str>) -> Result<TrendView> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let mut runs = app.store.runs(job.id).await?;
    // Runs over some of the items say nothing about all of them.
    runs.retain(|run| run.state.is_final() && run.mode == Mode::Submit);
    let runs = runs.split_off(runs.len().saturating_sub(MOST));
    let mut numbers = Vec::new();
    for run in &runs {
        numbers.push(results::aggregates(app, run).await?);
    }
    let names = names(&numbers);
    if let Some((evaluator, measure)) = metric.and_then(corrected_of).filter(|(name, _)| knows(&numbers, name)) {
        let mut points = Vec::new();
        for run in &runs {
            points.push(corrected(app, &job, run, evaluator, measure).await?);
        }
        let trend = Trend { metric: metric.unwrap_or_default().to_owned(), points };
        return Ok(TrendView { runs: shown(app, &runs).await?, job: job.name, metrics: vec![trend] });
    }
    if let Some(metric) = metric.filter(|metric| !names.iter().any(|name| name == metric)) {
        let help = match suggest::nearest(metric, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the metrics are {}", names.join(", ")),
        };
        let what = format!("{} has no metric {metric:?}", job.name);
        return Err(Error::new(what, help).coded(Code::InvalidQuery).about("metric"));
    }
    let trend = |name: &String| Trend {
        metric: name.clone(),
        points: runs.iter().zip(&numbers).map(|(run, numbers)| point(run, numbers, name)).collect(),
    };
    let wanted = names.iter().filter(|name| metric.is_none_or(|metric| *name == metric));
    let metrics = wanted.map(trend).collect();
    Ok(TrendView { runs: shown(app, &runs).await?, job: job.name, metrics })
}

async fn shown(app: &App, runs: &[Run]) -> Result<Vec<TrendRun>> {
    let mut shown = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let definition = match at.checked_sub(1) {
            Some(before) => definition::changes(app, &runs[before], run).await?,
            None => Vec::new(),
        };
        let changed: BTreeSet<String> = definition.iter().map(|change| change.part.clone()).collect();
        let (no, id, at) = (run.no, run.id.to_string(), run.created_at.into());
        shown.push(TrendRun { no, run: id, at, changed: changed.into_iter().collect(), definition });
    }
    Ok(shown)
}

/// `exact.corrected.mean`: the evaluator and the measure.
fn corrected_of(metric: &str) -> Option<(&str, &str)> {
    let (rest, measure) = metric.rsplit_once('.')?;
    let evaluator = rest.strip_suffix(".corrected")?;
    matches!(measure, "mean" | "pass_rate").then_some((evaluator, measure))
}

fn knows(numbers: &[Aggregates], evaluator: &str) -> bool {
    numbers.iter().any(|numbers| numbers.evaluators.contains_key(evaluator))
}

/// With the corrections of people; what nobody corrected counts as computed.
async fn corrected(app: &App, job: &Job, run: &Run, name: &str, measure: &str) -> Result<Option<TrendPoint>> {
    let metrics = views::metrics_of_run(app, job, run.no).await?;
    let point = metrics.into_iter().find(|metric| metric.name == name).and_then(|metric| {
        let Metric { n, mean, interval, pass_rate, pass_interval, corrected, .. } = metric;
        let computed = Corrected { labelled: 0, n, mean, interval, pass_rate, pass_interval };
        let Corrected { n, mean, interval, pass_rate, pass_interval, .. } = corrected.unwrap_or(computed);
        let (value, interval) = if measure == "mean" { (mean, interval) } else { (pass_rate, pass_interval) };
        Some(TrendPoint { value: value?, interval, n })
    });
    Ok(point)
}

fn names(numbers: &[Aggregates]) -> Vec<String> {
    let mut own: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut of_variants = own.clone();
    let found = |summaries: &BTreeMap<String, ScoreSummary>,
                 prefix: &str,
                 all: &mut BTreeMap<String, BTreeSet<u32>>| {
        for (name, summary) in summaries {
            let trials = summary.trials.iter().flat_map(|trials| &trials.pass).map(|pass| pass.k).filter(|k| *k > 1);
            all.entry(format!("{prefix}{name}")).or_default().extend(trials);
        }
    };
    for numbers in numbers {
        found(&numbers.evaluators, "", &mut own);
        numbers.variants.iter().for_each(|(v, numbers)| found(&numbers.evaluators, &format!("{v}."), &mut of_variants));
    }
    let measures = |(name, trials): (String, BTreeSet<u32>)| {
        let mut names = vec![format!("{name}.mean"), format!("{name}.pass_rate")];
        // The first and the last tell enough of the curve.
        let shown: BTreeSet<u32> = trials.first().into_iter().chain(trials.last()).copied().collect();
        names.extend(shown.into_iter().flat_map(|k| [format!("{name}.pass@{k}"), format!("{name}.pass^{k}")]));
        names
    };
    let fixed = ["errors", "latency.p50", "latency.p90", "latency.p99", "cost", "tokens"].map(str::to_owned);
    own.into_iter().flat_map(measures).chain(fixed).chain(of_variants.into_iter().flat_map(measures)).collect()
}

fn point(run: &Run, numbers: &Aggregates, metric: &str) -> Option<TrendPoint> {
    let total = run.counters.total;
    let of = |value: f64, interval: Option<Interval>, n: i64| Some(TrendPoint { value, interval, n });
    match metric {
        "errors" if total > 0 => {
            let share = run.counters.failed as f64 / total as f64;
            of(share, wilson(share, total as f64, LEVEL), total)
        }
        "errors" => None,
        "latency.p50" => of(numbers.latency.as_ref()?.p50 as f64, None, total),
        "latency.p90" => of(numbers.latency.as_ref()?.p90 as f64, None, total),
        "latency.p99" => of(numbers.latency.as_ref()?.p99 as f64, None, total),
        "cost" => of(numbers.usage.cost_nanos as f64 / 1e9, None, total),
        "tokens" => of((numbers.usage.tokens_in + numbers.usage.tokens_out) as f64, None, total),
        metric => {
            let (name, measure) = metric.rsplit_once('.')?;
            let summary = numbers.summary(name)?;
            let n = summary.pass + summary.fail;
            let at = |k: &str| {
                let k: u32 = k.parse().ok()?;
                summary.trials.as_ref()?.pass.iter().find(|pass| pass.k == k)
            };
            match measure {
                "mean" => of(summary.mean?, summary.mean_interval, n),
                "pass_rate" => of(summary.pass_rate?, summary.pass_rate_interval, n),
                measure => match (measure.strip_prefix("pass@"), measure.strip_prefix("pass^")) {
                    (Some(k), _) => at(k).and_then(|pass| of(pass.any, pass.any_interval, pass.rows)),
                    (_, Some(k)) => at(k).and_then(|pass| of(pass.all, pass.all_interval, pass.rows)),
                    _ => None,
                },
            }
        }
    }
}
