//! Maps a job's kind to its public statuses.

use windrow_model::record::{Item, Run};
use windrow_model::view::{ItemView, RunView, batch, experiment, ingest, task};

/// The status of a run, and of the job whose latest run it is.
pub fn of_run(kind: &str, run: &Run) -> &'static str {
    let view = RunView::of(run);
    match kind {
        "experiment" => experiment::ExperimentStatus::of(&view).as_str(),
        "operation" => batch::BatchStatus::of_batch(&view).as_str(),
        "ingest" => ingest::PlanStatus::of(&view).as_str(),
        _ => task::TaskStatus::of(&view).as_str(),
    }
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
