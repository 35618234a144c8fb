//! `windrow run FILE --dry-run`: an estimate of calls, cost and duration. Calls nothing, stores nothing.

use serde::Serialize;
use windrow_experiment::forecast::{Estimate, Forecast, forecast};
use windrow_jobfile::LoadedJob;
use windrow_model::record::RunLimits;

use crate::app::App;
use crate::cli::run::experience;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;
use crate::text::style;

#[derive(Serialize)]
struct DryRun {
    job: String,
    #[serde(flatten)]
    forecast: Forecast,
    concurrency: i64,
    budget: Option<Budget>,
    exit_code: u8,
}

/// What the run may use, and whether that is enough.
#[derive(Serialize)]
struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_nanos: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<i64>,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
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

    fn text(&self) -> String {
        let cost = self.cost_nanos.map(text::dollars);
        let tokens = self.tokens.map(|tokens| format!("{} tokens", text::count(tokens)));
        let limits = cost.into_iter().chain(tokens).collect::<Vec<_>>().join(", ");
        let verdict = match self.verdict {
            Verdict::Fits => "sufficient",
            Verdict::MayExceed => "may be exceeded",
            Verdict::Exceeds => return style::yellow(format!("over budget: the run would pause at {limits}")),
        };
        format!("{limits}: {verdict}")
    }
}

/// `afresh`: nothing is taken over from earlier runs.
pub async fn perform(
    options: &GlobalOptions,
    app: Option<&App>,
    job: &LoadedJob,
    afresh: bool,
    json: bool,
) -> Result<Exit> {
    let earlier = match app {
        Some(app) => experience::of(app, job).await?,
        None => None,
    };
    let (run, experience) = earlier.map_or((None, Default::default()), |e| (Some(e.run), e.experience));
    let learned = !experience.is_empty();
    let environment = app.map_or_else(|| options.environment(), App::environment);
    let made = forecast(job, environment, app.map(App::library), experience).await;
    let mut forecast = made.map_err(|failure| {
        Error::new(format!("cannot estimate the run: {}", failure.message), "correct the job file")
    })?;
    if let Some(run) = run {
        if learned {
            forecast.notes.push("lengths of answers and times are those of earlier runs".to_owned());
        }
        if !afresh {
            forecast
                .notes
                .push(format!("run {} came before: what has not changed is taken over, so this is at most", run.no));
        }
    }
    let budget = Budget::of(&job.limits, &forecast);
    let exceeds = budget.as_ref().is_some_and(|budget| budget.verdict == Verdict::Exceeds);
    let exit = if exceeds { Exit::BudgetSpent } else { Exit::Passed };
    let (name, concurrency) = (job.name.clone(), job.limits.concurrency);
    output::show(&DryRun { job: name, forecast, concurrency, budget, exit_code: exit.code() }, json);
    Ok(exit)
}

impl Show for DryRun {
    fn text(&self) -> String {
        let Forecast { rows, trials, items, sample, duration, unpriced, notes, .. } = &self.forecast;
        let [rows, items, sample] = [rows, items, sample].map(|n| text::count(i64::try_from(*n).unwrap_or(i64::MAX)));
        let trials = if *trials == 1 { String::new() } else { format!(" ({rows} rows × {trials} trials)") };
        let mut facts = vec![("items", format!("{items}{trials} · estimated from {sample}"))];
        let tokens = |estimate: &Estimate| with_margin(estimate, text::count);
        let Forecast { tokens_in, tokens_out, cost_nanos, .. } = &self.forecast;
        facts.push(("tokens", format!("{} in · {} out", tokens(tokens_in), tokens(tokens_out))));
        let unknown = match unpriced.as_slice() {
            [] => String::new(),
            unknown => format!(", without {} (unknown price)", unknown.join(", ")),
        };
        facts.push(("cost", format!("{}{unknown}", with_margin(cost_nanos, text::dollars))));
        facts.push(("time", format!("about {}, limited by {}", text::duration(duration.ms), duration.bound_by)));
        facts.extend(self.budget.as_ref().map(|budget| ("budget", budget.text())));
        let mut page = format!("{}: estimate\n{}", style::bold(&self.job), output::facts(&facts));
        if !self.forecast.calls.is_empty() {
            page += &format!("\n{}", self.calls());
        }
        page += "\n";
        notes.iter().for_each(|note| page += &format!("note: {note}\n"));
        page + "Dry run: nothing was called or stored."
    }
}

impl DryRun {
    fn calls(&self) -> String {
        let row = |line: &windrow_experiment::forecast::Line| {
            vec![
                line.caller.clone(),
                line.model.clone(),
                text::count(line.calls),
                text::count(line.tokens_in),
                text::count(line.tokens_out),
                text::dollars(line.cost_nanos),
            ]
        };
        let rows = self.forecast.calls.iter().map(row).collect();
        output::table(&["CALLER", "MODEL", ">CALLS", ">TOKENS IN", ">TOKENS OUT", ">COST"], rows)
    }
}

fn with_margin(estimate: &Estimate, shown: fn(i64) -> String) -> String {
    match estimate.margin {
        0 => shown(estimate.expected),
        margin => format!("{} ± {}", shown(estimate.expected), shown(margin)),
    }
}
