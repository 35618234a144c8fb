//! Maps a job's kind to its public statuses.

use windrow_model::record::{Item, Job, Run};
use windrow_model::view::{ItemView, RunView, batch, experiment, ingest, job_status, task};

/// The status of a run alone.
pub fn of_run(kind: &str, run: &Run) -> &'static str {
    job_status(kind, &RunView::of(run))
}

/// The status of a whole job.
pub fn of_job(job: &Job, latest: &Run) -> &'static str {
    job_status(&job.kind, &RunView::of_job(job, latest))
}

/// `run` is the run that determined the item's state.
pub fn of_item(kind: &str, run: &Run, item: &Item) -> &'static str {
    let view = ItemView::of(item, run);
    match kind {
        "experiment" => experiment::ItemStatus::of(&view).as_str(),
        "operation" => batch::BatchStatus::of_task(&view).as_str(),
        "ingest" => ingest::SliceStatus::of(&view, view.has_begun()).as_str(),
        _ => task::TaskItemStatus::of(&view).as_str(),
    }
}
