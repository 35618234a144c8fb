//! `windrow trends`

use windrow_model::record::{dollars, nanos};
use windrow_wire::{Trend, TrendPoint, TrendView};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::{style, tables};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of the bar that shows where a value lies.
const WIDTH: usize = 24;

/// Show the metrics of a job from run to run
///
/// Marks the runs before which the prompt, model, dataset or an evaluator changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// One metric with its runs, e.g. `exact.mean`, `exact.pass@3`, `gpt.short.exact.mean`, or with the corrections of
    /// people `exact.corrected.mean`; default: all, one line each
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.trends(&args.job, args.metric.as_deref()).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for TrendView {
    fn text(&self) -> String {
        if self.runs.is_empty() {
            return format!("{} has no finished run over all rows.\n", self.job);
        }
        if let [trend] = self.metrics.as_slice() {
            return chart(self, trend);
        }
        let (first, last) = (self.runs[0].no, self.runs[self.runs.len() - 1].no);
        let row = |trend: &Trend| {
            let last = trend.points.iter().rev().flatten().next();
            vec![trend.metric.clone(), line(trend), last.map_or("–".to_owned(), |point| number(&trend.metric, point))]
        };
        let shown = self.metrics.iter().filter(|trend| trend.points.iter().any(Option::is_some));
        let headings = ["METRIC", "TREND", ">LAST [95% CI]"];
        let table = output::table(&headings, shown.map(row).collect());
        let mut page = format!("{} · runs {first} to {last}\n\n{table}", style::bold(&self.job));
        for run in self.runs.iter().filter(|run| !run.changed.is_empty()) {
            page += &format!("\n{} {} changed", style::dim(format!("run {}:", run.no)), run.changed.join(", "));
        }
        page + "\n"
    }
}

/// One character per run.
fn line(trend: &Trend) -> String {
    let values: Vec<f64> = trend.points.iter().flatten().map(|point| point.value).collect();
    let (low, high) = bounds(&values);
    let bar = |point: &TrendPoint| match high > low {
        true => BARS[(((point.value - low) / (high - low) * 7.0).round() as usize).min(7)],
        false => BARS[3],
    };
    trend.points.iter().map(|point| point.as_ref().map_or('·', bar)).collect()
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// One line per run, with the interval drawn to scale.
fn chart(view: &TrendView, trend: &Trend) -> String {
    let ends = |point: &TrendPoint| match point.interval {
        Some(interval) => [interval.low, interval.high],
        None => [point.value; 2],
    };
    let (low, high) = bounds(&trend.points.iter().flatten().flat_map(ends).collect::<Vec<_>>());
    let place = |value: f64| match high > low {
        true => (((value - low) / (high - low) * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1),
        false => WIDTH / 2,
    };
    let drawn = |point: &TrendPoint| -> String {
        let [from, to] = ends(point).map(place);
        let sign = |at: usize| match at {
            at if at == place(point.value) => '●',
            at if (from..=to).contains(&at) => '─',
            _ => ' ',
        };
        (0..WIDTH).map(sign).collect()
    };
    let rows = view.runs.iter().zip(&trend.points).map(|(run, point)| {
        let (drawn, value) =
            point.as_ref().map_or((String::new(), "–".to_owned()), |p| (drawn(p), number(&trend.metric, p)));
        let changed = if run.changed.is_empty() { String::new() } else { format!("← {}", run.changed.join(", ")) };
        vec![run.no.to_string(), run.at.to_string(), value, drawn, changed]
    });
    let table = output::table(&[">RUN", "AT", ">VALUE [95% CI]", "", "CHANGED"], rows.collect());
    format!("{} · {}\n\n{table}", style::bold(&view.job), trend.metric)
}

/// In the unit of the metric.
fn number(metric: &str, point: &TrendPoint) -> String {
    let measure = metric.rsplit('.').next().unwrap_or_default();
    match metric {
        "cost" => return dollars(nanos(point.value)),
        "tokens" => return text::count(point.value as i64),
        metric if metric.starts_with("latency.") => return text::duration(point.value as i64),
        _ => {}
    }
    match measure {
        "mean" => tables::number(Some(point.value), point.interval),
        _ => tables::share(Some(point.value), point.interval),
    }
}
