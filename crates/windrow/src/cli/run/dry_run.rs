//! `windrow run FILE --dry-run`: an estimate of calls, cost and duration. Calls nothing, stores nothing.

use windrow_experiment::forecast::{Estimate, Forecast};
use windrow_jobfile::LoadedJob;

use crate::app::App;
use crate::app::forecast::{self, Budget, DryRun, Verdict};
use crate::cli::view::output::{self, Show};
use crate::error::{Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;
use crate::text::style;

/// `fresh`: no result of an earlier run is reused.
pub async fn perform(
    options: &GlobalOptions,
    app: Option<&App>,
    job: &LoadedJob,
    fresh: bool,
    json: bool,
) -> Result<Exit> {
    let made = match app {
        Some(app) => forecast::of_job(app, job, fresh).await?,
        None => forecast::of_file(job, options.environment()).await?,
    };
    output::show(&made, json);
    Ok(Exit::of_code(made.exit_code))
}

fn budget(budget: &Budget) -> String {
    let limits = budget.limits();
    let verdict = match budget.verdict {
        Verdict::Fits => "sufficient",
        Verdict::MayExceed => "may be exceeded",
        Verdict::Exceeds => return style::yellow(format!("over budget: the run would pause at {limits}")),
    };
    format!("{limits}: {verdict}")
}

impl Show for DryRun {
    fn text(&self) -> String {
        let Forecast { rows, trials, variants, items, sample, duration, unpriced, notes, .. } = &self.forecast;
        let [rows, items, sample] = [rows, items, sample].map(|n| text::count(i64::try_from(*n).unwrap_or(i64::MAX)));
        let mut parts = vec![format!("{rows} rows")];
        parts.extend((*variants > 1).then(|| format!("{variants} variants")));
        parts.extend((*trials > 1).then(|| format!("{trials} trials")));
        let trials = if parts.len() == 1 { String::new() } else { format!(" ({})", parts.join(" × ")) };
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
        facts.extend(self.budget.as_ref().map(|found| ("budget", budget(found))));
        let mut page = format!("{}: estimate\n{}", style::bold(&self.job), output::facts(&facts));
        if !self.forecast.calls.is_empty() {
            page += &format!("\n{}", calls(self));
        }
        page += "\n";
        notes.iter().for_each(|note| page += &format!("note: {note}\n"));
        page + "Dry run: nothing was called or stored."
    }
}

fn calls(made: &DryRun) -> String {
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
    let rows = made.forecast.calls.iter().map(row).collect();
    output::table(&["CALLER", "MODEL", ">CALLS", ">TOKENS IN", ">TOKENS OUT", ">COST"], rows)
}

fn with_margin(estimate: &Estimate, shown: fn(i64) -> String) -> String {
    match estimate.margin {
        0 => shown(estimate.expected),
        margin => format!("{} ± {}", shown(estimate.expected), shown(margin)),
    }
}
