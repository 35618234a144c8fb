//! `windrow plan`

use std::path::PathBuf;

use windrow_wire::Plan;

use crate::app::App;
use crate::cli::Context;
use crate::cli::run::{local, preview};
use crate::client::remote::Remote;
use crate::error::{Exit, Result};
use crate::node::options::GlobalOptions;

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
    #[arg(long, value_name = "N", default_value_t = preview::SHOWN)]
    limit: usize,
}

pub async fn perform(context: &Context, args: Args) -> Result<Exit> {
    let plan = match &context.remote {
        Some(remote) => plan_far(remote, &args).await?,
        None => plan_here(&context.options, &args).await?,
    };
    Ok(preview::show(&plan, &args.file, args.json))
}

async fn plan_here(options: &GlobalOptions, args: &Args) -> Result<Plan> {
    let existing = App::open_if_there(options).await?;
    let job = local::load(options, args.file.clone(), existing.as_ref()).await?;
    preview::here(options, existing.as_ref(), &job, args.limit).await
}

async fn plan_far(remote: &Remote, args: &Args) -> Result<Plan> {
    preview::at(remote, &args.file, args.limit).await
}
