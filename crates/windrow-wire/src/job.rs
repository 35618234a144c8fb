//! Representations of a job: a list entry, and the details.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::Aggregates;
use windrow_model::cron::{self, Timetable};
use windrow_model::record::{Job, Labels, Run, Schedule};
use windrow_model::state::JobState;
use windrow_model::{Json, Time};

use crate::{ItemCounts, RunDetail, Timestamp, flat, status};

/// An entry of `jobs list`: the whole job first, then its latest run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobRow {
    pub id: String,
    pub name: String,
    pub workspace: String,
    pub kind: String,
    /// Public status of the whole job.
    pub status: String,
    pub state: JobState,
    /// All items of the job, whichever run executed them last.
    pub items: ItemCounts,
    pub labels: Labels,
    pub latest_run: RunDetail,
    /// The schedule, if the job has one.
    pub schedule: Option<ScheduleView>,
    /// Since when retention keeps the job for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl JobRow {
    pub fn of(job: &Job, latest: &Run) -> Self {
        Self {
            id: job.id.to_string(),
            name: job.name.clone(),
            workspace: job.workspace.clone(),
            kind: job.kind.clone(),
            status: status::of_job(job, latest).to_owned(),
            items: job.counters.all.into(),
            state: job.state,
            labels: job.labels.clone(),
            latest_run: RunDetail::of(&job.kind, latest),
            schedule: job.schedule.as_ref().map(Into::into),
            pinned_at: job.pinned_at.map(Into::into),
            created_at: job.created_at.into(),
            updated_at: job.updated_at.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    pub cron: String,
    /// Null while a run is active, and while the schedule is paused.
    pub next_at: Option<Timestamp>,
    /// Nothing starts until the schedule is set again without it.
    #[serde(default)]
    pub paused: bool,
}

impl From<&Schedule> for ScheduleView {
    fn from(schedule: &Schedule) -> Self {
        let (paused, cron) = cron::paused(&schedule.cron);
        Self { cron: cron.to_owned(), next_at: schedule.next_at.map(Into::into), paused }
    }
}

/// A job with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJob {
    pub job: String,
    pub name: String,
    pub workspace: String,
    #[serde(flatten)]
    pub schedule: ScheduleView,
    /// The next starts, if no run takes longer than the time between them; none while the schedule is paused.
    #[serde(default)]
    pub upcoming: Vec<Timestamp>,
}

impl ScheduledJob {
    const UPCOMING: usize = 5;

    /// `None` for a job without a schedule.
    pub fn of(job: &Job, now: Time) -> Option<Self> {
        let schedule = job.schedule.as_ref()?;
        let timetable = schedule.cron.parse::<Timetable>().ok();
        let upcoming = timetable.map_or_else(Vec::new, |timetable| timetable.upcoming(now, Self::UPCOMING));
        Some(Self {
            job: job.id.to_string(),
            name: job.name.clone(),
            workspace: job.workspace.clone(),
            schedule: schedule.into(),
            upcoming: upcoming.into_iter().map(Into::into).collect(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    /// Newest job first.
    pub schedules: Vec<ScheduledJob>,
    /// Cursor for `before` to get the next page; null on the last page.
    pub next: Option<String>,
}

/// Result of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deleted {
    pub jobs: i64,
    pub items: i64,
    /// Jobs that a dry run would delete, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// `jobs show`: the list entry, the frozen definition of the latest run, and all runs.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct JobDetail {
    #[serde(flatten)]
    pub job: JobRow,
    pub spec: Json,
    pub runs: Vec<RunDetail>,
    /// Over the current results of all items.
    pub aggregates: Option<Aggregates>,
}

impl<'de> Deserialize<'de> for JobDetail {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            spec: Json,
            runs: Vec<RunDetail>,
            #[serde(default)]
            aggregates: Option<Aggregates>,
        }
        let (job, Rest { spec, runs, aggregates }) = flat::read(d)?;
        Ok(Self { job, spec, runs, aggregates })
    }
}
