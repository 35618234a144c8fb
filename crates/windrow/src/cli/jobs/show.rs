//! `windrow jobs show`

use windrow_model::rollout::Approval;
use windrow_wire::{ItemCounts, JobDetail, RunDetail};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::{style, tables};

/// Show a job: definition, runs and statistics
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.job(&args.job).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for JobDetail {
    fn text(&self) -> String {
        let job = &self.job;
        let mut page = format!(
            "{}: {} · {} · {}\n\n",
            style::bold(&job.name),
            style::status(&job.status),
            job.kind,
            style::dim(&job.id)
        );
        page += &output::facts(&facts(self));
        page += &format!(
            "\n{}\n{}",
            style::bold(format!("Definition of run {}", job.latest_run.no)),
            definition(&self.spec.value())
        );
        page += &format!("\n{}", runs(&self.runs));
        if let Some(aggregates) = self.aggregates.as_ref().filter(|found| !found.evaluators.is_empty()) {
            page += &format!(
                "\n{}",
                tables::evaluators(
                    &aggregates.evaluators,
                    &aggregates.agreement,
                    &windrow_experiment::judges(&self.spec),
                )
            );
        }
        page
    }
}

fn facts(detail: &JobDetail) -> Vec<(&'static str, String)> {
    let (job, run) = (&detail.job, &detail.job.latest_run);
    let mut facts = vec![
        ("items", counts(&job.items)),
        ("workspace", job.workspace.clone()),
        ("created", text::moment(job.created_at)),
        ("updated", text::moment(job.updated_at)),
        ("concurrency", run.concurrency.to_string()),
        ("priority", run.priority.to_string()),
    ];
    if let Some(schedule) = &job.schedule {
        let next = schedule.next_at.as_ref().map(|at| format!(", next at {at}")).unwrap_or_default();
        facts.push(("schedule", format!("{}{next}", schedule.cron)));
    }
    if let Some(at) = job.pinned_at {
        facts.push(("pinned", text::moment(at)));
    }
    if let Some(at) = run.next_retry_at {
        facts.push(("next retry", at.to_string()));
    }
    if let Some(max) = run.max_failed {
        facts
            .push(("failure cap", format!("{} of at most {} failed", text::count(run.items.failed), text::count(max))));
    }
    if let Some(rollout) = run.rollout.as_ref().filter(|rollout| rollout.waves > 1) {
        let approval = match (rollout.plan.approval, rollout.approved) {
            (Approval::Never, _) => String::new(),
            (approval, Some(wave)) => format!(" · approval {approval}, given up to wave {wave}"),
            (approval, None) => format!(" · approval {approval}, none given"),
        };
        facts.push(("waves", format!("{} of {} open{approval}", rollout.wave, rollout.waves)));
    }
    if let Some(tokens) = run.budget.tokens {
        let spent = run.spent.tokens_in + run.spent.tokens_out;
        facts.push(("budget", format!("{} of {} tokens spent", text::count(spent), text::count(tokens))));
    }
    if let Some(cost) = run.budget.cost_nanos {
        let spent = text::dollars(run.spent.cost_nanos);
        facts.push(("budget", format!("{spent} of {} spent", text::dollars(cost))));
    }
    facts
}

/// `500 · 496 succeeded · 4 failed`
fn counts(items: &ItemCounts) -> String {
    let states = [
        (items.succeeded, "succeeded"),
        (items.failed, "failed"),
        (items.cancelled, "cancelled"),
        (items.skipped, "skipped"),
        (items.running, "running"),
        (items.queued, "queued"),
    ];
    let states = states.iter().filter(|(n, _)| *n > 0).map(|(n, state)| format!("{} {state}", text::count(*n)));
    std::iter::once(text::count(items.total)).chain(states).collect::<Vec<_>>().join(" · ")
}

/// The frozen definition, one line per field.
fn definition(spec: &serde_json::Value) -> String {
    let Some(fields) = spec.as_object() else {
        return format!("{spec}\n");
    };
    let width = fields.keys().map(String::len).max().unwrap_or(0);
    let line = |(name, value): (&String, &serde_json::Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("  {name:width$}  {}\n", text::line(&value, 120))
    };
    fields.iter().filter(|(_, value)| !value.is_null()).map(line).collect()
}

fn runs(runs: &[RunDetail]) -> String {
    let rows = runs.iter().map(|run| {
        let items = &run.items;
        vec![
            run.no.to_string(),
            run.mode.to_string(),
            run.state.to_string(),
            text::count(items.total),
            text::count(items.succeeded),
            text::count(items.failed),
            text::count(items.cancelled),
            text::count(items.retries),
            run.duration_ms.map_or("–".into(), text::duration),
            run.id.clone(),
        ]
    });
    let headings =
        [">RUN", "MODE", "STATE", ">ITEMS", ">SUCCEEDED", ">FAILED", ">CANCELLED", ">RETRIES", ">TIME", "ID"];
    output::table(&headings, rows.collect())
}
