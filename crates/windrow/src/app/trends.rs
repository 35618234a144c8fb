//! The numbers of a job from run to run, and where its definition changed (E16).

use std::collections::BTreeSet;

use windrow_model::aggregate::{Aggregates, Interval, LEVEL, wilson};
use windrow_model::record::Run;
use windrow_model::state::Mode;
use windrow_model::suggest;
use windrow_wire::{Trend, TrendPoint, TrendRun, TrendView};

use crate::app::actor::Actor;
use crate::app::{App, definition, lookup, results};
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
    Ok(TrendView { job: job.name, runs: shown, metrics })
}

fn names(numbers: &[Aggregates]) -> Vec<String> {
    let evaluators: BTreeSet<&String> = numbers.iter().flat_map(|numbers| numbers.evaluators.keys()).collect();
    let own = evaluators.into_iter().flat_map(|name| [format!("{name}.mean"), format!("{name}.pass_rate")]);
    own.chain(["errors", "latency.p50", "latency.p90", "cost", "tokens"].map(str::to_owned)).collect()
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
        "cost" => of(numbers.usage.cost_nanos as f64 / 1e9, None, total),
        "tokens" => of((numbers.usage.tokens_in + numbers.usage.tokens_out) as f64, None, total),
        metric => {
            let (name, measure) = metric.rsplit_once('.')?;
            let summary = numbers.evaluators.get(name)?;
            let n = summary.pass + summary.fail;
            match measure {
                "mean" => of(summary.mean?, summary.mean_interval, n),
                _ => of(summary.pass_rate?, summary.pass_rate_interval, n),
            }
        }
    }
}
