//! `windrow jobs list`

use windrow_engine::SystemClock;
use windrow_model::label_filter::LabelFilter;
use windrow_model::store::JobFilter;
use windrow_model::view::filter::JobWord;
use windrow_model::{Clock, JobId, Time};
use windrow_wire::JobList;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// List jobs, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Filter by status, e.g. running, paused, success
    #[arg(long, alias = "state", value_name = "STATUS")]
    status: Option<JobWord>,
    /// Filter by kind: experiment, operation, ingest
    #[arg(long)]
    kind: Option<String>,
    /// Filter by a part of the name
    #[arg(long)]
    name: Option<String>,
    /// Filter by labels, e.g. region=eu,service=cdc; labels are creator, service, environment, region, az and extra.NAME
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = LabelFilter::of_jobs)]
    labels: Option<LabelFilter>,
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
        status: args.status,
        name_contains: args.name,
        labels: args.labels.unwrap_or_default(),
        scheduled: false,
        before: args.after,
        limit: args.limit,
    };
    let found = api.jobs(filter).await?;
    match args.json {
        true => output::print_json(&found),
        false => output::print(&text(&found, args.wide, SystemClock.now())),
    }
    Ok(Exit::Passed)
}

fn text(list: &JobList, wide: bool, now: Time) -> String {
    if list.jobs.is_empty() {
        return "No jobs yet. Start one with: windrow run FILE".into();
    }
    let rows = list.jobs.iter().map(|job| {
        let (run, items) = (&job.latest_run, &job.items);
        let done = items.total - items.queued - items.running;
        let status = run.condition(now).unwrap_or(&job.status);
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
