//! Whether every unfinished or scheduled job can be prepared here: its variables, secrets and files exist. Nothing is
//! called.

use windrow_model::store::JobFilter;

use crate::app::App;
use crate::app::doctor::Check;
use crate::error::Result;

const NAME: &str = "jobs";
const MOST: usize = 200;

pub async fn check(app: &App) -> Result<Check> {
    let (looked_at, troubles) = troubles(app).await?;
    if troubles.is_empty() {
        return Ok(Check::ok(NAME, format!("{looked_at} unfinished or scheduled, all credentials and files found")));
    }
    let remedy = "set it in the environment of the server, or with `windrow secrets set NAME`";
    Ok(Check::failure(NAME, troubles.join("; "), remedy))
}

async fn troubles(app: &App) -> Result<(usize, Vec<String>)> {
    let workloads = crate::app::kinds::workloads(app.environment(), app.library());
    let (mut looked_at, mut troubles) = (0, Vec::new());
    for (job, run) in app.store.jobs(JobFilter { limit: MOST, ..JobFilter::default() }).await? {
        if run.ended_at.is_some() && job.schedule.is_none() {
            continue;
        }
        let Some(workload) = workloads.iter().find(|workload| workload.kind() == job.kind) else { continue };
        looked_at += 1;
        let spec = app.store.spec(&run.spec_hash).await?;
        if let Err(failure) = workload.prepare(&job.workspace, &spec).await {
            troubles.push(format!("{}: {}", job.name, failure.message));
        }
    }
    Ok((looked_at, troubles))
}
