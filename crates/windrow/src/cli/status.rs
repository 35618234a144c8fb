//! `--status`: the words that lists display and the words of the kernel, alike.

use windrow_model::state::{ItemState, RunState};
use windrow_model::view::batch::BatchStatus;
use windrow_model::view::experiment::{ExperimentStatus, ItemStatus};
use windrow_model::view::ingest::{PlanStatus, SliceStatus};
use windrow_model::view::task::{TaskItemStatus, TaskStatus};
use windrow_wire::JobRow;

/// Of a job's latest run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunWord {
    /// `None` where a displayed status stands for several states.
    pub state: Option<RunState>,
    /// The displayed status, where the word is not one of the kernel's.
    shown: Option<String>,
}

impl RunWord {
    pub fn fits(&self, job: &JobRow) -> bool {
        self.shown.as_ref().is_none_or(|shown| *shown == job.status)
    }
}

pub fn run(text: &str) -> Result<RunWord, String> {
    if let Ok(state) = text.parse() {
        return Ok(RunWord { state: Some(state), shown: None });
    }
    let shown = shown_of_runs().find(|word| word.eq_ignore_ascii_case(text));
    let state = match shown {
        Some("success" | "rollback_success") => Some(RunState::Completed),
        Some("processing") => Some(RunState::Running),
        Some(_) => None,
        None => {
            let known: Vec<&str> = RunState::ALL.iter().map(|state| state.as_str()).collect();
            return Err(format!("must be one of {}, or a status that `jobs list` shows", known.join(", ")));
        }
    };
    Ok(RunWord { state, shown: shown.map(str::to_owned) })
}

fn shown_of_runs() -> impl Iterator<Item = &'static str> {
    let experiment = ExperimentStatus::ALL.iter().map(|status| status.as_str());
    let batch = BatchStatus::ALL.iter().map(|status| status.as_str());
    let plan = PlanStatus::ALL.iter().map(|status| status.as_str());
    experiment.chain(batch).chain(plan).chain(TaskStatus::ALL.iter().map(|status| status.as_str()))
}

pub fn item(text: &str) -> Result<ItemState, String> {
    if let Ok(state) = text.to_ascii_lowercase().parse() {
        return Ok(state);
    }
    let experiment = ItemStatus::ALL.iter().map(|status| status.as_str());
    let task = TaskItemStatus::ALL.iter().map(|status| status.as_str());
    let slice = SliceStatus::ALL.iter().map(|status| status.as_str());
    let batch = BatchStatus::ALL.iter().map(|status| status.as_str());
    let shown = experiment.chain(task).chain(slice).chain(batch).find(|word| word.eq_ignore_ascii_case(text));
    match shown.map(str::to_ascii_lowercase).as_deref() {
        Some("success" | "completed" | "rollback_success") => Ok(ItemState::Succeeded),
        Some("fail" | "rollback_fail") => Ok(ItemState::Failed),
        Some("terminal" | "cancel") => Ok(ItemState::Cancelled),
        Some("queueing" | "processing" | "pending" | "running" | "dispatched" | "executing" | "retry_pending") => {
            Ok(ItemState::Queued)
        }
        _ => {
            let known: Vec<&str> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
            Err(format!("must be one of {}, or a status that `jobs items` shows", known.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_take_what_lists_display() {
        assert_eq!([item("fail"), item("failed"), item("FAILED")], [const { Ok(ItemState::Failed) }; 3]);
        assert_eq!([item("success"), item("succeeded")], [const { Ok(ItemState::Succeeded) }; 2]);
        assert!(item("broken").unwrap_err().contains("cancelled, skipped"));
        assert_eq!(run("paused").unwrap(), RunWord { state: Some(RunState::Paused), shown: None });
        assert_eq!(run("success").unwrap().state, Some(RunState::Completed));
        assert_eq!(run("partial_fail").unwrap(), RunWord { state: None, shown: Some("partial_fail".into()) });
        assert!(run("sleeping").is_err());
    }
}
