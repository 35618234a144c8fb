//! What a run would cost, before it is started. Calls nothing, stores nothing.

use serde::Serialize;
use windrow_experiment::forecast::{Estimate, Forecast, forecast};
use windrow_jobfile::dataset::Library;
use windrow_jobfile::{Environment, LoadedJob};
use windrow_model::record::RunLimits;
use windrow_model::state::Mode;

use crate::app::experience::{self, Earlier};
use crate::app::{App, balance, submit};
use crate::error::{Code, Error, Exit, Result};
use crate::text;

#[derive(Serialize)]
pub struct DryRun {
    pub job: String,
    #[serde(flatten)]
    pub forecast: Forecast,
    pub concurrency: i64,
    pub budget: Option<Budget>,
    pub exit_code: u8,
}

/// What the run may use, and whether that is enough.
#[derive(Serialize)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Fits,
    /// It should, but the sample does not rule out that it does not.
    MayExceed,
    Exceeds,
}

impl Verdict {
    fn on(estimate: &Estimate, limit: Option<i64>) -> Self {
        match limit {
            Some(limit) if estimate.expected > limit => Verdict::Exceeds,
            Some(limit) if estimate.most() > limit => Verdict::MayExceed,
            _ => Verdict::Fits,
        }
    }
}

impl Budget {
    fn of(limits: &RunLimits, forecast: &Forecast) -> Option<Self> {
        let RunLimits { max_cost_nanos: cost_nanos, max_tokens: tokens, .. } = *limits;
        let cost = Verdict::on(&forecast.cost_nanos, cost_nanos);
        let verdict = cost.max(Verdict::on(&forecast.tokens, tokens));
        (cost_nanos.is_some() || tokens.is_some()).then_some(Self { cost_nanos, tokens, verdict })
    }

    /// `$5.00, 1,000 tokens`
    pub fn limits(&self) -> String {
        let cost = self.cost_nanos.map(text::dollars);
        let tokens = self.tokens.map(|tokens| format!("{} tokens", text::count(tokens)));
        cost.into_iter().chain(tokens).collect::<Vec<_>>().join(", ")
    }
}

/// `fresh`: no result of an earlier run is reused.
pub async fn of_job(app: &App, job: &LoadedJob, fresh: bool) -> Result<DryRun> {
    let earlier = experience::of(app, job).await?;
    made(job, app.environment(), Some(app.library()), earlier, fresh).await
}

/// The same without a data directory.
pub async fn of_file(job: &LoadedJob, environment: Environment) -> Result<DryRun> {
    made(job, environment, None, None, true).await
}

async fn made(
    job: &LoadedJob,
    environment: Environment,
    library: Option<Library>,
    earlier: Option<Earlier>,
    fresh: bool,
) -> Result<DryRun> {
    submit::check_dataset(job, Mode::Submit)?;
    let (run, experience) = earlier.map_or((None, Default::default()), |e| (Some(e.run), e.experience));
    let learned = !experience.is_empty();
    let mut forecast = forecast(job, environment, library, experience).await.map_err(|failure| {
        Error::new(format!("cannot estimate the run: {}", failure.message), "correct the job file")
    })?;
    if let Some(run) = run {
        if learned {
            forecast.notes.push("lengths of answers and times are those of earlier runs".to_owned());
        }
        if !fresh {
            forecast.notes.push(format!("unchanged results of run {} are reused, so this is an upper limit", run.no));
        }
    }
    let budget = Budget::of(&job.limits, &forecast);
    let exceeds = budget.as_ref().is_some_and(|budget| budget.verdict == Verdict::Exceeds);
    let exit = if exceeds { Exit::BudgetSpent } else { Exit::Passed };
    let concurrency = job.limits.concurrency;
    Ok(DryRun { job: job.name.clone(), forecast, concurrency, budget, exit_code: exit.code() })
}

/// Rejects a run whose estimate is over its budget, or over what is left of the balance of its workspace. A job that has run before reuses results, so that its estimate is an
/// upper limit and rejects nothing, unless all of it is run again.
pub async fn check_budget(app: &App, job: &LoadedJob, fresh: bool) -> Result<()> {
    let RunLimits { max_cost_nanos, max_tokens, .. } = job.limits;
    let has_balance = app.balance().is_some_and(|balance| balance.of(&job.workspace).is_some());
    let has_budget = max_cost_nanos.is_some() || max_tokens.is_some();
    if !(has_budget || has_balance) || job.kind != windrow_experiment::KIND || job.worker.is_some() {
        return Ok(());
    }
    if !fresh && app.store.find_job(&job.workspace, &job.name).await?.is_some() {
        return Ok(());
    }
    let DryRun { forecast, budget, .. } = of_job(app, job, true).await?;
    let Some(budget) = budget.filter(|budget| budget.verdict == Verdict::Exceeds) else {
        return balance::check_estimate(app, &job.workspace, forecast.cost_nanos.expected).await;
    };
    let tokens = text::count(forecast.tokens.expected);
    let cost = text::dollars(forecast.cost_nanos.expected);
    let what =
        format!("over budget: the run is estimated at {cost} and {tokens} tokens, the budget is {}", budget.limits());
    let remedy = "raise the budget, run fewer rows with `--first N`, or pass `--yes` (`yes` over HTTP) to run until the \
                  budget is reached";
    Err(Error::new(what, remedy).coded(Code::BudgetSpent).about("budget"))
}
