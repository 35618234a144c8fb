//! `windrow check FILE`: all that is looked at before a run is stored (E4), and nothing more.

use std::path::PathBuf;

use windrow_wire::InOrder;
use windrow_wire::request::Check;

use super::output::{self, Show};
use super::upload::Local;
use super::{At, job_text, run_here, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::remote::Remote;
use crate::site::Site;
use crate::wiring::App;

/// Say whether a job file and its dataset are in order.
///
/// Reads the file, the whole dataset and the environment, and reports every problem with its place.
/// Nothing is called and nothing is stored. With --server a file whose dataset is kept there is checked
/// there; one whose dataset is here is checked here.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job file (YAML)
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Show for InOrder {
    fn text(&self) -> String {
        let items = i64::try_from(self.items).unwrap_or(i64::MAX);
        format!("{}: in order, {}\n", self.job, text::plural(items, "item"))
    }
}

pub async fn perform(at: &At, args: Args) -> Result<Exit> {
    let found = match &at.remote {
        Some(remote) => check_far(remote, &at.site, &args).await?,
        None => check_here(&at.site, &args, App::open_if_there(&at.site).await?).await?,
    };
    for warning in &found.warnings {
        eprintln!("warning: {warning}");
    }
    output::show(&found, args.json);
    Ok(Exit::Passed)
}

async fn check_here(site: &Site, args: &Args, existing: Option<App>) -> Result<InOrder> {
    let job = run_here::load(site, args.file.clone(), existing.as_ref()).await?;
    Ok(InOrder { job: job.name, kind: job.kind.to_owned(), items: job.rows, warnings: job.warnings })
}

async fn check_far(remote: &Remote, site: &Site, args: &Args) -> Result<InOrder> {
    let text = job_text::read(&args.file)?;
    if Local::of(&args.file, &text).is_some() {
        return check_here(site, args, None).await;
    }
    let answer = remote.post(&["check"], &Check { file: text.clone() }).await;
    answer.map_err(|error| job_text::placed(error, &args.file, text))
}
