//! `windrow plan`

use std::path::{Path, PathBuf};

use serde::Serialize;
use windrow_model::rollout::Rollout;
use windrow_workloads::operation::{self, Preview};
use windrow_workloads::{Environment, LoadedJob};

use super::{output, run_here, text};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::site::Site;
use crate::wiring::App;

const SHOWN: usize = 50;

/// What an operation would change on each of its targets, before → after. Nothing is changed or stored.
///
/// The targets are read, and where they can say so they are asked whether they would take the change.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job file
    file: PathBuf,
    /// Print one JSON object, with all targets
    #[arg(long)]
    json: bool,
    /// How many targets to list
    #[arg(long, value_name = "N", default_value_t = SHOWN)]
    limit: usize,
}

#[derive(Serialize)]
struct Plan {
    name: String,
    total: usize,
    changed: usize,
    done: usize,
    refused: usize,
    waves: Vec<i64>,
    targets: Vec<Preview>,
}

pub async fn perform(site: &Site, args: Args) -> Result<Exit> {
    let existing = App::open_if_there(site).await?;
    let job = run_here::load(site, args.file.clone(), existing.as_ref()).await?;
    if job.kind != operation::KIND {
        let what = format!("{} is an {}, which changes nothing", job.name, job.kind);
        return Err(Error::new(what, "to see what it would do and cost: windrow run FILE --dry-run"));
    }
    let environment = existing.as_ref().map_or_else(|| site.environment(), App::environment);
    let plan = look(&job, environment.of_workspace(&job.workspace)).await?;
    let exit = if plan.refused > 0 { Exit::Error } else { Exit::Passed };
    if args.json {
        output::print_json(&plan);
    } else {
        output::print(&page(&args.file, &plan, args.limit));
    }
    Ok(exit)
}

async fn look(job: &LoadedJob, environment: Environment) -> Result<Plan> {
    let mut targets = Vec::new();
    let each = |preview| targets.push(preview);
    operation::preview(&job.spec, environment, each).await.map_err(|failure| {
        Error::new(format!("nothing could be found out: {failure}"), "correct it, then plan again")
    })?;
    let count = |which: fn(&Preview) -> bool| targets.iter().filter(|preview| which(preview)).count();
    Ok(Plan {
        name: job.name.clone(),
        total: targets.len(),
        done: count(|preview| preview.done),
        refused: count(|preview| preview.error.is_some()),
        changed: count(|preview| !preview.done && preview.error.is_none()),
        waves: job.rollout.as_ref().map_or_else(Vec::new, |rollout| sizes(rollout, job.rows as i64)),
        targets,
    })
}

/// Of every wave.
fn sizes(rollout: &Rollout, total: i64) -> Vec<i64> {
    let end = |wave: i64| rollout.up_to(wave).min(total);
    (0..rollout.waves_of(total)).map(|wave| end(wave) - if wave == 0 { 0 } else { end(wave - 1) }).collect()
}

fn page(file: &Path, plan: &Plan, limit: usize) -> String {
    let mut page = String::new();
    for preview in plan.targets.iter().take(limit) {
        let mut said = match (&preview.error, preview.done) {
            (Some(error), _) => vec![format!("refused: {error}")],
            (None, true) => vec!["nothing to do".to_owned()],
            (None, false) => preview.changes.clone(),
        };
        page += &format!("{}  {}\n", preview.target, text::line(&said.remove(0), 160));
        let indent = " ".repeat(preview.target.chars().count() + 2);
        page.extend(said.iter().map(|line| format!("{indent}{}\n", text::line(line, 160))));
    }
    if plan.total > limit {
        page += &format!("… and {} more; --limit N or --json shows them\n", text::count((plan.total - limit) as i64));
    }
    let parts = [(plan.changed, "to change"), (plan.done, "done already"), (plan.refused, "refused")];
    let parts: Vec<String> = parts.iter().map(|(n, what)| format!("{} {what}", text::count(*n as i64))).collect();
    page += &format!("\n{}: {}\n", text::plural(plan.total as i64, "target"), parts.join(", "));
    if plan.waves.len() > 1 {
        let sizes: Vec<String> = plan.waves.iter().take(12).map(ToString::to_string).collect();
        let more = if plan.waves.len() > 12 { ", …" } else { "" };
        page += &format!("{}: {}{more}\n", text::plural(plan.waves.len() as i64, "wave"), sizes.join(", "));
    }
    page += &format!("nothing was changed; do it with: windrow run {}\n", file.display());
    page
}
