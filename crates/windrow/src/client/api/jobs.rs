//! Jobs and runs, their log and their numbers.

use windrow_model::aggregate::Stats;
use windrow_model::record::LogLevel;
use windrow_model::store::JobFilter;
use windrow_model::why::Explanation;
use windrow_wire::{JobDetail, JobList, LogList, RunDetail, RunList, Worker, WorkerList};

use crate::app::jobs;
use crate::app::logs::{self, LogFilter};
use crate::client::api::{Api, PAGE};
use crate::client::remote::{NOTHING, Remote};
use crate::error::Result;

impl Api {
    pub async fn jobs(&self, filter: JobFilter) -> Result<JobList> {
        match self {
            Api::Local(app, actor) => jobs::list(app, actor, filter).await,
            Api::Remote(remote) => jobs_of(remote, filter).await,
        }
    }

    pub async fn job(&self, job: &str) -> Result<JobDetail> {
        match self {
            Api::Local(app, actor) => jobs::show(app, actor, job).await,
            Api::Remote(remote) => remote.get(&["jobs", job], NOTHING).await,
        }
    }

    pub async fn runs(&self, job: &str) -> Result<RunList> {
        match self {
            Api::Local(app, actor) => jobs::runs(app, actor, job).await,
            Api::Remote(remote) => remote.get(&["jobs", job, "runs"], NOTHING).await,
        }
    }

    /// Whether the job's latest run is over.
    pub async fn is_over(&self, job: &str) -> Result<bool> {
        Ok(self.runs(job).await?.runs.last().is_none_or(|run| run.state.is_final()))
    }

    pub async fn logs(&self, job: &str, after: i64, level: Option<LogLevel>) -> Result<LogList> {
        match self {
            Api::Local(app, actor) => logs::list(app, actor, job, LogFilter { after, level, limit: PAGE }).await,
            Api::Remote(remote) => {
                let level = level.map(|level| level.to_string());
                let query = [("after", Some(after.to_string())), ("limit", Some(PAGE.to_string())), ("level", level)];
                remote.get(&["jobs", job, "logs"], &query).await
            }
        }
    }

    /// Of all jobs, or of one.
    pub async fn stats(&self, job: Option<&str>) -> Result<Stats> {
        match (self, job) {
            (Api::Local(app, actor), job) => jobs::stats(app, actor, job).await,
            (Api::Remote(remote), Some(job)) => remote.get(&["jobs", job, "stats"], NOTHING).await,
            (Api::Remote(remote), None) => remote.get(&["stats"], NOTHING).await,
        }
    }

    pub async fn why(&self, job: &str) -> Result<Explanation> {
        match self {
            Api::Local(app, actor) => jobs::why(app, actor, job).await,
            Api::Remote(remote) => remote.get(&["jobs", job, "why"], NOTHING).await,
        }
    }

    /// The live process that executes the run, if any.
    pub async fn worker_of(&self, run: &RunDetail) -> Result<Option<Worker>> {
        match self {
            Api::Local(app, actor) => jobs::coordinator(app, actor, &run.id).await,
            Api::Remote(remote) => {
                let WorkerList { workers } = remote.get(&["workers"], NOTHING).await?;
                Ok(workers.into_iter().find(|worker| Some(&worker.id) == run.coordinator.as_ref()))
            }
        }
    }
}

/// A server limits its pages; the command line shows as many jobs as were asked for.
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
            ("state", filter.status.as_ref().map(|status| status.as_str().to_owned())),
            ("name", filter.name_contains.clone()),
            ("labels", (!filter.labels.is_empty()).then(|| filter.labels.to_string())),
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
