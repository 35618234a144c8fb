//! The changes an operation would make, for `windrow plan` and `windrow run --dry-run`.

use std::path::Path;

use windrow_jobfile::LoadedJob;
use windrow_wire::Plan;
use windrow_wire::request::PlanRequest;

use crate::app::{App, operations};
use crate::cli::run::job_text;
use crate::cli::view::output;
use crate::client::remote::Remote;
use crate::error::{Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;
use crate::text::style;

pub const SHOWN: usize = 50;

pub fn show(plan: &Plan, file: &Path, json: bool) -> Exit {
    let exit = if plan.refused > 0 { Exit::Error } else { Exit::Passed };
    if json {
        output::print_json(plan);
    } else {
        output::print(&page(plan));
        if exit == Exit::Passed && plan.changed > 0 {
            output::hint(&[format!("windrow run {}", file.display())]);
        }
    }
    exit
}

pub async fn here(options: &GlobalOptions, app: Option<&App>, job: &LoadedJob, limit: usize) -> Result<Plan> {
    let environment = app.map_or_else(|| options.environment(), App::environment);
    operations::plan(job, environment.of_workspace(&job.workspace), limit).await
}

pub async fn at(remote: &Remote, file: &Path, limit: usize) -> Result<Plan> {
    let text = job_text::read(file)?;
    let wish = PlanRequest { file: text.clone(), limit: Some(limit) };
    remote.post(&["plan"], &wish).await.map_err(|error| job_text::placed(error, file, text))
}

fn page(plan: &Plan) -> String {
    let width = plan.targets.iter().map(|preview| preview.target.chars().count()).max().unwrap_or(0);
    let mut page = String::new();
    for preview in &plan.targets {
        let (sign, said) = match (&preview.error, preview.done) {
            (Some(error), _) => (style::red(style::WARNING), vec![format!("invalid: {error}")]),
            (None, true) => (style::dim("="), vec!["up to date".to_owned()]),
            (None, false) => (style::yellow("~"), preview.changes.clone()),
        };
        let (mut sign, mut target) = (sign, preview.target.as_str());
        for line in said {
            page += &format!("  {sign} {target:width$}  {}\n", output::fitted(&line, width + 6));
            (sign, target) = (" ".to_owned(), "");
        }
    }
    let shown = |done: bool| plan.targets.iter().filter(|one| one.error.is_none() && one.done == done).count() as i64;
    let more = [(plan.changed - shown(false), "to change"), (plan.done - shown(true), "up to date")];
    for (n, (left, what)) in more.iter().filter(|(left, _)| *left > 0).enumerate() {
        let limit = if n == 0 { format!(" (--limit {})", plan.total) } else { String::new() };
        page += &format!("  … {} more {what}{limit}\n", text::count(*left));
    }
    let parts = [(plan.changed, "to change"), (plan.done, "up to date"), (plan.refused, "invalid")];
    let parts: Vec<String> = parts.iter().map(|(n, what)| format!("{} {what}", text::count(*n))).collect();
    let cap = plan.max_failed.map_or(String::new(), |max| format!(" · failure cap {}", text::count(max)));
    page + &format!("\nPlan: {}{}{cap}\nNothing was changed.\n", parts.join(", "), waves(&plan.waves))
}

/// ` · 9 waves: 5 (canary), 7 × 25, 20`
fn waves(sizes: &[i64]) -> String {
    if sizes.len() < 2 {
        return String::new();
    }
    let groups = sizes.chunk_by(|a, b| a == b).map(|group| match group.len() {
        1 => group[0].to_string(),
        n => format!("{n} × {}", group[0]),
    });
    let mut groups: Vec<String> = groups.collect();
    if sizes[0] < sizes[1] {
        groups[0] += " (canary)";
    }
    let more = if groups.len() > 12 { ", …" } else { "" };
    format!(" · {}: {}{more}", text::plural(sizes.len() as i64, "wave"), groups[..groups.len().min(12)].join(", "))
}
