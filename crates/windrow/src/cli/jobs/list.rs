//! `windrow jobs list`

use windrow_model::JobId;
use windrow_model::state::RunState;
use windrow_model::store::JobFilter;
use windrow_wire::JobList;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// All jobs, newest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only jobs whose latest run is in this state (running, paused, completed, …)
    #[arg(long)]
    state: Option<RunState>,
    /// Only jobs of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only jobs whose name contains this
    #[arg(long)]
    name: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Continue below this job of an earlier list
    #[arg(long, value_name = "JOB_ID")]
    before: Option<JobId>,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let filter = JobFilter {
        workspace: None,
        kind: args.kind,
        state: args.state,
        name_contains: args.name,
        scheduled: false,
        before: args.before,
        limit: args.limit,
    };
    output::show(&api.jobs(filter).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for JobList {
    fn text(&self) -> String {
        if self.jobs.is_empty() {
            return "no jobs".into();
        }
        let rows = self.jobs.iter().map(|job| {
            let run = &job.latest_run;
            let items = &run.items;
            let done = items.total - items.queued - items.running;
            vec![
                job.name.clone(),
                job.kind.clone(),
                job.status.clone(),
                run.state.to_string(),
                run.no.to_string(),
                text::count(items.total),
                text::count(done),
                text::count(items.failed),
                job.updated_at.to_string(),
                job.id.clone(),
            ]
        });
        let headings = ["NAME", "KIND", "STATUS", "RUN IS", ">RUN", ">ITEMS", ">DONE", ">FAILED", "CHANGED", "ID"];
        output::table(&headings, rows.collect())
    }
}
