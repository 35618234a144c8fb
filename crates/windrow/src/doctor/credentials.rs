//! Whether every job that is unfinished or will start by itself can be prepared here: variables, secrets
//! and files that it names are there. Nothing is called.

use windrow_model::store::JobFilter;

use super::Check;
use crate::site::Site;
use crate::wiring::App;

const NAME: &str = "jobs";
const MOST: usize = 200;

pub async fn check(site: &Site) -> Check {
    match troubles(site).await {
        Err(error) => Check::failure(NAME, error.one_line(), "see to the database first"),
        Ok((looked_at, troubles)) if troubles.is_empty() => {
            Check::ok(NAME, format!("{looked_at} unfinished or scheduled, and all they name is there"))
        }
        Ok((_, troubles)) => {
            let remedy = "set what is missing where the server is started, or with `windrow secrets set NAME`";
            Check::failure(NAME, troubles.join("; "), remedy)
        }
    }
}

async fn troubles(site: &Site) -> crate::error::Result<(usize, Vec<String>)> {
    let app = App::open(site).await?;
    let workloads = windrow_workloads::workloads(app.environment(), app.library());
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
