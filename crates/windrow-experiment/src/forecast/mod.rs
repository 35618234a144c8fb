//! What a run would do, cost and take, found out by rehearsing a sample of its items (dry run).
//! Nothing is called and nothing is stored.

mod duration;
mod estimate;
mod ledger;
mod notes;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use windrow_jobfile::LoadedJob;
use windrow_jobfile::dataset::Library;
use windrow_jobfile::environment::Environment;
use windrow_model::retry::Tried;
use windrow_model::store::NewItem;
use windrow_model::workload::{Halt, Program, WorkItem};
use windrow_model::{AttemptId, ErrorClass, Failure, ItemId, RunId};

pub use crate::context::Experience;
use crate::context::Rehearsal;
use crate::definition::spec::ExperimentSpec;
use crate::execution::program::Experiment;
pub use duration::Length;
pub use estimate::Estimate;
use ledger::{Ledger, Noted};

/// Items that are rehearsed; of a larger job as many, spread over all of it.
const SAMPLE: u64 = 200;
const PAGE: usize = 1000;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    pub rows: u64,
    pub trials: u32,
    /// Of each row; 1 where the job has none.
    pub variants: usize,
    /// Rows times trials times variants.
    pub items: u64,
    /// How many of them were rehearsed.
    pub sample: u64,
    /// By who makes them and which model answers.
    pub calls: Vec<Line>,
    pub tokens_in: Estimate,
    pub tokens_out: Estimate,
    pub tokens: Estimate,
    /// Billionths of a dollar.
    pub cost_nanos: Estimate,
    pub duration: Length,
    /// Models and services whose cost is not known and counts as nothing.
    pub unpriced: Vec<String>,
    /// On what all this rests.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// `target`, the evaluator's name, or the simulated user.
    pub caller: String,
    pub model: String,
    pub calls: i64,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub cost_nanos: i64,
}

/// Rehearses a job that was loaded and is in order.
pub async fn forecast(
    job: &LoadedJob,
    environment: Environment,
    library: Option<Library>,
    experience: Experience,
) -> Result<Forecast, Failure> {
    let spec: ExperimentSpec = job
        .spec
        .parse()
        .map_err(|error| Failure::new(ErrorClass::InvalidRequest, format!("the definition cannot be read: {error}")))?;
    let experience = Arc::new(experience);
    let rehearsal = Rehearsal::new(experience.clone());
    let environment = environment.of_workspace(&job.workspace);
    let (frozen, around) = (spec.clone(), environment.clone());
    // Reads files and secrets, so it must not block the runtime.
    let prepare = move || Experiment::prepare_as(frozen, around, library, Some(rehearsal));
    let program = tokio::task::spawn_blocking(prepare)
        .await
        .map_err(|panic| Failure::new(ErrorClass::Handler, format!("the rehearsal cannot be prepared: {panic}")))??;
    let mut sample = Vec::new();
    let mut failed: Vec<Failure> = Vec::new();
    for (no, item) in spread(&program, job.rows).await?.into_iter().enumerate() {
        let ledger = Ledger::default();
        if let Err(Halt::Failed(failure)) = program.execute(&work(no, item), &ledger).await {
            failed.push(failure);
        }
        sample.push(ledger.into_calls());
    }
    let total = |of: fn(&Noted) -> i64| {
        let values: Vec<f64> = sample.iter().map(|calls| calls.iter().map(of).sum::<i64>() as f64).collect();
        Estimate::of(&values, job.rows)
    };
    let calls = lines(&sample, job.rows);
    let unpriced = notes::unpriced(&spec, &job.spec, &calls, &environment)?;
    Ok(Forecast {
        rows: job.rows / spec.items_per_row() as u64,
        trials: spec.trials,
        variants: spec.variants.len().max(1),
        items: job.rows,
        sample: sample.len() as u64,
        tokens_in: total(|call| call.usage.tokens_in),
        tokens_out: total(|call| call.usage.tokens_out),
        tokens: total(|call| call.usage.tokens_in + call.usage.tokens_out),
        cost_nanos: total(|call| call.usage.cost_nanos),
        duration: duration::length(&sample, job.rows, job.limits.concurrency, &experience),
        notes: notes::of(&spec, &calls, &experience, &failed),
        calls,
        unpriced,
    })
}

/// Items from all over the source, however it is sorted.
async fn spread(program: &dyn Program, items: u64) -> Result<Vec<NewItem>, Failure> {
    let wanted = items.min(SAMPLE);
    let place = |no: u64| (u128::from(no) * u128::from(items) / u128::from(wanted.max(1))) as u64;
    let (mut chosen, mut seen, mut cursor) = (Vec::new(), 0_u64, None);
    loop {
        let page = program.page(cursor.as_ref(), PAGE).await?;
        for item in page.items {
            if (chosen.len() as u64) < wanted && seen == place(chosen.len() as u64) {
                chosen.push(item);
            }
            seen += 1;
        }
        if page.done || chosen.len() as u64 == wanted {
            return Ok(chosen);
        }
        cursor = page.cursor;
    }
}

fn work(no: usize, item: NewItem) -> WorkItem {
    WorkItem {
        run: RunId(1),
        attempt: AttemptId::new(ItemId(no as i64 + 1), 1),
        ordinal: no as i64,
        key: item.key,
        input: item.input,
        tried: Tried::default(),
        first_try: 1,
        rescore: false,
        retry_from: None,
        fresh: false,
        proven: true,
        rollback: false,
    }
}

/// Scaled up to all items; the target first.
fn lines(sample: &[Vec<Noted>], items: u64) -> Vec<Line> {
    let mut sums: BTreeMap<(&str, &str), [i64; 4]> = BTreeMap::new();
    for Noted { caller, model, usage, .. } in sample.iter().flatten() {
        let sum = sums.entry((caller, model)).or_default();
        let more = [1, usage.tokens_in, usage.tokens_out, usage.cost_nanos];
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    let scale = items as f64 / sample.len().max(1) as f64;
    let line = |((caller, model), sums): ((&str, &str), [i64; 4])| {
        let [calls, tokens_in, tokens_out, cost_nanos] = sums.map(|sum| (sum as f64 * scale).round() as i64);
        let caller = if caller.is_empty() { "target" } else { caller }.to_owned();
        Line { caller, model: model.to_owned(), calls, tokens_in, tokens_out, cost_nanos }
    };
    sums.into_iter().map(line).collect()
}
