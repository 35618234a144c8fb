//! Jobs and runs, their log and their numbers.

use windrow_model::aggregate::Stats;
use windrow_model::store::{Extent, JobFilter};
use windrow_model::why::Explanation;
use windrow_wire::{JobDetail, JobList, LogList, RunDetail, RunList, Worker, WorkerList};

use crate::app::detail;
use crate::app::error::Result;
use crate::app::listing;
use crate::app::lookup;
use crate::client::api::Api;
use crate::client::api::PAGE;
use crate::client::remote::{NOTHING, Remote};

impl Api {
    pub async fn jobs(&self, filter: JobFilter) -> Result<JobList> {
        match self {
            Api::Local(app) => listing::jobs(app, filter).await,
            Api::Remote(remote) => jobs_of(remote, filter).await,
        }
    }

    pub async fn job(&self, job: &str) -> Result<JobDetail> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                detail::of_job(app, &job, &latest).await
            }
            Api::Remote(remote) => remote.get(&["jobs", job], NOTHING).await,
        }
    }

    pub async fn runs(&self, job: &str) -> Result<RunList> {
        match self {
            Api::Local(app) => listing::runs(app, &lookup::job(app, job).await?.0).await,
            Api::Remote(remote) => remote.get(&["jobs", job, "runs"], NOTHING).await,
        }
    }

    /// Whether the job's latest run is over.
    pub async fn is_over(&self, job: &str) -> Result<bool> {
        Ok(self.runs(job).await?.runs.last().is_none_or(|run| run.state.is_final()))
    }

    pub async fn logs(&self, job: &str, after: i64) -> Result<LogList> {
        match self {
            Api::Local(app) => listing::logs(app, &lookup::job(app, job).await?.0, after, PAGE).await,
            Api::Remote(remote) => {
                remote.get(&["jobs", job, "logs"], &[("after", after), ("limit", PAGE as i64)]).await
            }
        }
    }

    /// Of all jobs, or of one.
    pub async fn stats(&self, job: Option<&str>) -> Result<Stats> {
        match (self, job) {
            (Api::Local(app), Some(job)) => Ok(app.store.stats(Extent::Job(lookup::job(app, job).await?.0.id)).await?),
            (Api::Local(app), None) => Ok(app.store.stats(Extent::All).await?),
            (Api::Remote(remote), Some(job)) => remote.get(&["jobs", job, "stats"], NOTHING).await,
            (Api::Remote(remote), None) => remote.get(&["stats"], NOTHING).await,
        }
    }

    pub async fn why(&self, job: &str) -> Result<Explanation> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                detail::why(app, &job, &run).await
            }
            Api::Remote(remote) => remote.get(&["jobs", job, "why"], NOTHING).await,
        }
    }

    /// The living process that works on the run, if any.
    pub async fn worker_of(&self, run: &RunDetail) -> Result<Option<Worker>> {
        match self {
            Api::Local(app) => {
                let run = lookup::run(app, &run.id).await?.1;
                Ok(app.coordinator_of(&run).await?.as_ref().map(Worker::from))
            }
            Api::Remote(remote) => {
                let WorkerList { workers } = remote.get(&["workers"], NOTHING).await?;
                Ok(workers.into_iter().find(|worker| Some(&worker.id) == run.coordinator.as_ref()))
            }
        }
    }
}

/// A server gives so many at a time; the command line gives as many as were asked for.
async fn jobs_of(remote: &Remote, filter: JobFilter) -> Result<JobList> {
    let mut list = JobList { jobs: Vec::new(), next: filter.before.map(|id| id.to_string()) };
    loop {
        let limit = PAGE.min(filter.limit - list.jobs.len());
        if limit == 0 {
            return Ok(list);
        }
        let query = [
            ("workspace", filter.workspace.clone()),
            ("kind", filter.kind.clone()),
            ("state", filter.state.map(|state| state.to_string())),
            ("name", filter.name_contains.clone()),
            ("before", list.next.take()),
            ("limit", Some(limit.to_string())),
        ];
        let page: JobList = remote.get(&["jobs"], &query).await?;
        list.jobs.extend(page.jobs);
        list.next = page.next;
        if list.next.is_none() {
            return Ok(list);
        }
    }
}
