//! `windrow jobs list`

use windrow_model::JobId;
use windrow_model::state::RunState;
use windrow_model::store::JobFilter;
use windrow_wire::JobList;

use crate::cli::status::{self, RunWord};
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// List jobs, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Filter by the status of the latest run, e.g. running, paused, success
    #[arg(long, alias = "state", value_name = "STATUS", value_parser = status::run)]
    status: Option<RunWord>,
    /// Filter by kind: experiment, operation, ingest
    #[arg(long)]
    kind: Option<String>,
    /// Filter by a part of the name
    #[arg(long)]
    name: Option<String>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Cursor: the id of the last job of the previous page
    #[arg(long, alias = "before", value_name = "CURSOR")]
    after: Option<JobId>,
    /// Show job ids
    #[arg(long, short)]
    wide: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let filter = JobFilter {
        workspace: None,
        kind: args.kind,
        state: args.status.as_ref().and_then(|status| status.state),
        name_contains: args.name,
        scheduled: false,
        before: args.after,
        limit: args.limit,
    };
    let mut found = api.jobs(filter).await?;
    found.jobs.retain(|job| args.status.as_ref().is_none_or(|status| status.fits(job)));
    match args.json {
        true => output::print_json(&found),
        false => output::print(&text(&found, args.wide)),
    }
    Ok(Exit::Passed)
}

fn text(list: &JobList, wide: bool) -> String {
    if list.jobs.is_empty() {
        return "No jobs yet. Start one with: windrow run FILE".into();
    }
    let rows = list.jobs.iter().map(|job| {
        let (run, items) = (&job.latest_run, &job.latest_run.items);
        let done = items.total - items.queued - items.running;
        let status = if run.state == RunState::Paused { "paused" } else { &job.status };
        let mut row = vec![
            job.name.clone(),
            job.kind.clone(),
            status.to_owned(),
            run.no.to_string(),
            format!("{} of {}", text::count(done), text::count(items.total)),
            text::count(items.failed),
            text::moment(job.updated_at),
        ];
        row.extend(wide.then(|| job.id.clone()));
        row
    });
    let mut headings = vec!["NAME", "KIND", "STATUS", ">RUN", "PROGRESS", ">FAILED", "UPDATED"];
    headings.extend(wide.then_some("ID"));
    output::table(&headings, rows.collect())
}
