//! `windrow check FILE`: every validation that precedes a run (E4).

use std::path::PathBuf;

use windrow_model::Failure;
use windrow_wire::InOrder;
use windrow_wire::request::Check;

use crate::app::App;
use crate::cli::Context;
use crate::cli::run::upload::Local;
use crate::cli::run::{job_text, local};
use crate::cli::view::output::{self, Show};
use crate::client::remote::Remote;
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;

/// Validate a job file and its dataset without calling or storing anything
///
/// Reads the file, the whole dataset and the environment, and reports every error with its line. With
/// --server, a file whose dataset is stored on the server is validated there.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job file (YAML)
    file: PathBuf,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

impl Show for InOrder {
    fn text(&self) -> String {
        let items = i64::try_from(self.items).unwrap_or(i64::MAX);
        format!("{} is valid: {}\n", self.job, text::plural(items, "item"))
    }
}

pub async fn perform(context: &Context, args: Args) -> Result<Exit> {
    let found = match &context.remote {
        Some(remote) => check_far(remote, &context.options, &args).await?,
        None => check_here(&context.options, &args, App::open_if_there(&context.options).await?).await?,
    };
    for warning in &found.warnings {
        output::say(&format!("warning: {warning}"));
    }
    output::show(&found, args.json);
    Ok(Exit::Passed)
}

async fn check_here(options: &GlobalOptions, args: &Args, existing: Option<App>) -> Result<InOrder> {
    let job = local::load(options, args.file.clone(), existing.as_ref()).await?;
    if job.kind == windrow_experiment::KIND {
        let environment = existing.as_ref().map_or_else(|| options.environment(), App::environment);
        let broken = windrow_experiment::broken_code(&job.spec, &environment).await;
        if let Some(failure) = broken.first() {
            return Err(broken_code(failure, broken.len() - 1));
        }
    }
    Ok(InOrder { job: job.name, kind: job.kind.to_owned(), items: job.rows, warnings: job.warnings })
}

/// With the traceback of the process.
fn broken_code(failure: &Failure, more: usize) -> Error {
    let detail = failure.detail.as_ref().map(|detail| detail.value());
    let stderr = detail.as_ref().and_then(|detail| detail["stderr"].as_str()).unwrap_or_default();
    let traceback: String = stderr.trim_end().lines().map(|line| format!("\n  {line}")).collect();
    let setting = failure.setting.as_deref().unwrap_or("the job file");
    let others = if more > 0 { format!("; {more} more cannot be started") } else { String::new() };
    Error::new(
        format!("{setting}: {}{traceback}", failure.message),
        format!("fix the code, then check it again{others}"),
    )
    .ending_with(Exit::Usage)
}

async fn check_far(remote: &Remote, options: &GlobalOptions, args: &Args) -> Result<InOrder> {
    let text = job_text::read(&args.file)?;
    if Local::of(&args.file, &text).is_some() {
        return check_here(options, args, None).await;
    }
    let answer = remote.post(&["check"], &Check { file: text.clone() }).await;
    answer.map_err(|error| job_text::placed(error, &args.file, text))
}
