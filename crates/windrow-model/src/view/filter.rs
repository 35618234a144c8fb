//! Words that filters take: every public status and every kernel state, alike. `fail` and `failed` are one word.

use std::str::FromStr;

use crate::counters::{Counters, JobCounters};
use crate::record::{Job, Run};
use crate::state::{ItemState, Mode, RunState};
use crate::view::batch::BatchStatus;
use crate::view::experiment::{ExperimentStatus, ItemStatus};
use crate::view::ingest::{PlanStatus, SliceStatus};
use crate::view::task::{TaskItemStatus, TaskStatus};
use crate::view::{RunView, job_status};

/// Which jobs: by their public status, or by the state of their latest run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobWord {
    text: String,
    states: Vec<RunState>,
}

const KINDS: [&str; 4] = ["experiment", "operation", "ingest", ""];

impl JobWord {
    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The states of the latest run that such jobs can have, to narrow a query.
    pub fn states(&self) -> &[RunState] {
        &self.states
    }

    pub fn fits(&self, job: &Job, latest: &Run) -> bool {
        let wanted = normal(&self.text);
        let status = job_status(&job.kind, &RunView::of_job(job, latest));
        normal(latest.state.as_str()) == wanted || normal(status) == wanted
    }
}

impl FromStr for JobWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = normal(text);
        let can_read =
            |state: &RunState| normal(state.as_str()) == wanted || readings(*state).any(|word| word == wanted);
        let states: Vec<RunState> = RunState::ALL.iter().copied().filter(can_read).collect();
        if states.is_empty() && !public_words().any(|word| normal(word) == wanted) {
            let known: Vec<&str> = RunState::ALL.iter().map(|state| state.as_str()).collect();
            return Err(format!("must be one of {}, or a status that `jobs list` shows", known.join(", ")));
        }
        Ok(Self { text: text.to_owned(), states })
    }
}

impl<'de> serde::Deserialize<'de> for JobWord {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Words of one meaning become one.
fn normal(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    match word.as_str() {
        "fail" => "failed".to_owned(),
        "success" => "succeeded".to_owned(),
        "cancel" => "cancelled".to_owned(),
        "processing" => "running".to_owned(),
        _ => word,
    }
}

fn public_words() -> impl Iterator<Item = &'static str> {
    let experiment = ExperimentStatus::ALL.iter().map(|status| status.as_str());
    let batch = BatchStatus::ALL.iter().map(|status| status.as_str());
    let plan = PlanStatus::ALL.iter().map(|status| status.as_str());
    experiment.chain(batch).chain(plan).chain(TaskStatus::ALL.iter().map(|status| status.as_str()))
}

/// All that a job can read whose latest run is in this state.
fn readings(state: RunState) -> impl Iterator<Item = String> {
    let views = Mode::ALL.iter().flat_map(move |&mode| {
        shapes().flat_map(move |counters| {
            [(false, false), (false, true), (true, true)].map(|(planned, started)| RunView {
                state,
                mode,
                planned,
                started,
                counters,
            })
        })
    });
    views.flat_map(|view| KINDS.map(|kind| normal(job_status(kind, &view))))
}

/// Every combination of states that the items of a job can be in.
pub(crate) fn shapes() -> impl Iterator<Item = JobCounters> {
    let settled = |bits: u32| {
        let [succeeded, failed, cancelled, skipped] = [0, 1, 2, 3].map(|bit| i64::from(bits >> bit & 1));
        let total = succeeded + failed + cancelled + skipped;
        Counters { total, succeeded, failed, cancelled, skipped, ..Counters::default() }
    };
    (0..16).flat_map(move |forward| {
        (0..16).map(move |rolled_back| {
            let mut counters = JobCounters::default();
            counters.add(Mode::Submit, settled(forward));
            counters.add(Mode::Rollback, settled(rolled_back));
            counters
        })
    })
}

/// The state of items that a word means.
pub fn item_state(text: &str) -> Result<ItemState, String> {
    if let Ok(state) = text.to_ascii_lowercase().parse() {
        return Ok(state);
    }
    let experiment = ItemStatus::ALL.iter().map(|status| status.as_str());
    let task = TaskItemStatus::ALL.iter().map(|status| status.as_str());
    let slice = SliceStatus::ALL.iter().map(|status| status.as_str());
    let batch = BatchStatus::ALL.iter().map(|status| status.as_str());
    let shown = experiment.chain(task).chain(slice).chain(batch).find(|word| word.eq_ignore_ascii_case(text));
    match shown.map(str::to_ascii_lowercase).as_deref() {
        Some("success" | "completed" | "partial" | "rollback_success") => Ok(ItemState::Succeeded),
        Some("fail" | "rollback_fail" | "unknown") => Ok(ItemState::Failed),
        Some("terminal" | "cancel") => Ok(ItemState::Cancelled),
        Some(
            "queueing" | "processing" | "pending" | "running" | "dispatched" | "executing" | "retry_pending"
            | "rollback_pending" | "rollback_running",
        ) => Ok(ItemState::Queued),
        _ => {
            let known: Vec<&str> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
            Err(format!("must be one of {}, or a status that `jobs items` shows", known.join(", ")))
        }
    }
}

/// As a query parameter.
pub fn deserialize_item_state<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<ItemState>, D::Error> {
    use serde::Deserialize;
    let text = Option::<String>::deserialize(d)?;
    text.map(|text| item_state(&text).map_err(serde::de::Error::custom)).transpose()
}

/// The status of targets that a word means; a kernel state means the way forward.
pub fn target_status(text: &str) -> Result<BatchStatus, String> {
    let text = text.to_ascii_lowercase();
    text.parse().or_else(|_| match text.as_str() {
        "queued" => Ok(BatchStatus::Pending),
        "succeeded" => Ok(BatchStatus::Success),
        "failed" => Ok(BatchStatus::Fail),
        "cancelled" => Ok(BatchStatus::Cancel),
        _ => {
            let known: Vec<&str> = BatchStatus::ALL.iter().map(|status| status.as_str()).collect();
            Err(format!("must be one of {}", known.join(", ")))
        }
    })
}

/// As a query parameter.
pub fn deserialize_target_status<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<BatchStatus>, D::Error> {
    use serde::Deserialize;
    let text = Option::<String>::deserialize(d)?;
    text.map(|text| target_status(&text).map_err(serde::de::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_take_what_lists_display() {
        assert_eq!(
            [item_state("fail"), item_state("failed"), item_state("FAILED")],
            [const { Ok(ItemState::Failed) }; 3]
        );
        assert_eq!([item_state("success"), item_state("succeeded")], [const { Ok(ItemState::Succeeded) }; 2]);
        assert!(item_state("broken").unwrap_err().contains("cancelled, skipped"));
        assert_eq!([target_status("fail"), target_status("failed")], [const { Ok(BatchStatus::Fail) }; 2]);
        assert!(target_status("broken").is_err());
    }

    #[test]
    fn a_word_narrows_a_list_to_the_states_that_can_read_so() {
        let states = |text: &str| text.parse::<JobWord>().unwrap().states().to_vec();
        assert_eq!(states("paused"), [RunState::Paused]);
        assert_eq!(states("partial_fail"), [RunState::Completed, RunState::Failed]);
        assert_eq!(states("fail"), states("failed"));
        assert!(states("failed").contains(&RunState::Completed), "a run that completed may have failed items only");
        assert!(states("retrying").contains(&RunState::Running));
        assert!("sleeping".parse::<JobWord>().is_err());
        // Every word that is displayed is taken.
        public_words().for_each(|word| assert!(word.parse::<JobWord>().is_ok(), "{word}"));
    }
}
