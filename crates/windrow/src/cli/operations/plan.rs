//! `windrow plan`

use std::path::PathBuf;

use windrow_wire::Plan;
use windrow_wire::request::PlanRequest;

use crate::app::{App, operations};
use crate::cli::Context;
use crate::cli::run::{job_text, local};
use crate::cli::view::output;
use crate::client::remote::Remote;
use crate::error::{Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;
use crate::text::style;

const SHOWN: usize = 50;

/// Preview the changes an operation would make
///
/// Reads every target and, where the target supports it, asks whether the change is valid. Nothing is changed or
/// stored.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job file (YAML)
    file: PathBuf,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
    /// Number of targets to list; all targets are read and counted, and invalid ones are always listed
    #[arg(long, value_name = "N", default_value_t = SHOWN)]
    limit: usize,
}

pub async fn perform(context: &Context, args: Args) -> Result<Exit> {
    let plan = match &context.remote {
        Some(remote) => plan_far(remote, &args).await?,
        None => plan_here(&context.options, &args).await?,
    };
    let exit = if plan.refused > 0 { Exit::Error } else { Exit::Passed };
    if args.json {
        output::print_json(&plan);
    } else {
        output::print(&page(&plan));
        if exit == Exit::Passed && plan.changed > 0 {
            output::hint(&[format!("windrow run {}", args.file.display())]);
        }
    }
    Ok(exit)
}

async fn plan_here(options: &GlobalOptions, args: &Args) -> Result<Plan> {
    let existing = App::open_if_there(options).await?;
    let job = local::load(options, args.file.clone(), existing.as_ref()).await?;
    let environment = existing.as_ref().map_or_else(|| options.environment(), App::environment);
    operations::plan(&job, environment.of_workspace(&job.workspace), args.limit).await
}

async fn plan_far(remote: &Remote, args: &Args) -> Result<Plan> {
    let text = job_text::read(&args.file)?;
    let wish = PlanRequest { file: text.clone(), limit: Some(args.limit) };
    remote.post(&["plan"], &wish).await.map_err(|error| job_text::placed(error, &args.file, text))
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
    let left = plan.total - plan.targets.len() as i64;
    if left > 0 {
        page += &format!("  … {} more (--limit {})\n", text::count(left), plan.total);
    }
    let parts = [(plan.changed, "to change"), (plan.done, "up to date"), (plan.refused, "invalid")];
    let parts: Vec<String> = parts.iter().map(|(n, what)| format!("{} {what}", text::count(*n))).collect();
    page + &format!("\nPlan: {}{}\nNothing was changed.\n", parts.join(", "), waves(&plan.waves))
}

/// ` · 9 waves: 5, 7 × 25, 20`
fn waves(sizes: &[i64]) -> String {
    if sizes.len() < 2 {
        return String::new();
    }
    let groups = sizes.chunk_by(|a, b| a == b).map(|group| match group.len() {
        1 => group[0].to_string(),
        n => format!("{n} × {}", group[0]),
    });
    let groups: Vec<String> = groups.collect();
    let more = if groups.len() > 12 { ", …" } else { "" };
    format!(" · {}: {}{more}", text::plural(sizes.len() as i64, "wave"), groups[..groups.len().min(12)].join(", "))
}
