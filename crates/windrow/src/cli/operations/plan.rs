//! `windrow plan`

use std::path::{Path, PathBuf};

use windrow_wire::Plan;
use windrow_wire::request::PlanRequest;

use crate::app::App;
use crate::app::operations;
use crate::cli::Context;
use crate::cli::run::job_text;
use crate::cli::run::local;
use crate::cli::view::output;
use crate::client::remote::Remote;
use crate::error::{Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;

const SHOWN: usize = 50;

/// What an operation would change on each of its targets, before → after. Nothing is changed or stored.
///
/// The targets are read, and where they can say so they are asked whether they would take the change.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job file
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// How many targets to list; all are looked at and counted, and what is refused is listed too
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
        output::print(&page(&args.file, &plan));
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

fn page(file: &Path, plan: &Plan) -> String {
    let mut page = String::new();
    for preview in &plan.targets {
        let mut said = match (&preview.error, preview.done) {
            (Some(error), _) => vec![format!("refused: {error}")],
            (None, true) => vec!["nothing to do".to_owned()],
            (None, false) => preview.changes.clone(),
        };
        page += &format!("{}  {}\n", preview.target, text::line(&said.remove(0), 160));
        let indent = " ".repeat(preview.target.chars().count() + 2);
        page.extend(said.iter().map(|line| format!("{indent}{}\n", text::line(line, 160))));
    }
    let left = plan.total - plan.targets.len() as i64;
    if left > 0 {
        page += &format!("… and {} more; --limit N shows more\n", text::count(left));
    }
    let parts = [(plan.changed, "to change"), (plan.done, "done already"), (plan.refused, "refused")];
    let parts: Vec<String> = parts.iter().map(|(n, what)| format!("{} {what}", text::count(*n))).collect();
    page += &format!("\n{}: {}\n", text::plural(plan.total, "target"), parts.join(", "));
    if plan.waves.len() > 1 {
        let sizes: Vec<String> = plan.waves.iter().take(12).map(ToString::to_string).collect();
        let more = if plan.waves.len() > 12 { ", …" } else { "" };
        page += &format!("{}: {}{more}\n", text::plural(plan.waves.len() as i64, "wave"), sizes.join(", "));
    }
    page += &format!("nothing was changed; do it with: windrow run {}\n", file.display());
    page
}
