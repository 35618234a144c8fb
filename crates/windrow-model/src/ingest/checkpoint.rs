//! The position of a pass over a slice (I3). A pass is one reading of the slice from its start to its end,
//! however many attempts and runs that takes; the next pass of an incremental source begins where the
//! highest value of the last one was.

use serde_json::Value;

use crate::ids::RunId;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The run that began the pass.
    pub pass: RunId,
    pub begun_at: Time,
    /// Where the next page begins, in the source's own terms; `None`: at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Value>,
    /// Only what is newer is asked for, throughout the pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Value>,
    /// The highest value of the cursor that was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Value>,
    /// Batches committed in the pass.
    #[serde(default)]
    pub batches: i64,
    /// Records of the pass that were rejected, as far as was known when they were committed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected: i64,
    /// Version of the change by hand that it goes back to: pages after it may be committed again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub era: i64,
    /// The end was reached.
    #[serde(default)]
    pub done: bool,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Checkpoint {
    fn begin(pass: RunId, now: Time, since: Option<Value>) -> Self {
        let (position, high) = (None, since.clone());
        Self { pass, begun_at: now, position, high, since, batches: 0, rejected: 0, era: 0, done: false }
    }
}

/// What an attempt does about a slice.
#[derive(Debug, Clone, PartialEq)]
pub enum Resume {
    /// From the last committed checkpoint.
    GoOn(Checkpoint),
    /// From the start of a new pass.
    Begin(Checkpoint),
    /// This run has committed the slice to its end, with this number of rejected records; only the hand-in was lost.
    Over { rejected: i64 },
    /// A window that was closed when it was last read whole cannot have anything new.
    Skip,
}

/// `closed_at`: nothing can be added to the slice after that. A `fresh` run reads everything again.
pub fn resume(last: Option<Checkpoint>, run: RunId, fresh: bool, closed_at: Option<Time>, now: Time) -> Resume {
    match last {
        Some(last) if last.pass == run && last.done => Resume::Over { rejected: last.rejected },
        Some(last) if last.pass == run => Resume::GoOn(last),
        None => Resume::Begin(Checkpoint::begin(run, now, None)),
        Some(_) if fresh => Resume::Begin(Checkpoint::begin(run, now, None)),
        Some(last) if !last.done => Resume::GoOn(last),
        Some(last) if closed_at.is_some_and(|closed| closed <= last.begun_at) => Resume::Skip,
        Some(last) => Resume::Begin(Checkpoint::begin(run, now, last.high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Time = Time(1_000);

    fn at(pass: i64, done: bool) -> Checkpoint {
        Checkpoint {
            pass: RunId(pass),
            begun_at: Time(500),
            position: Some(json!("t7")),
            since: None,
            high: Some(json!(42)),
            batches: 7,
            rejected: 0,
            era: 0,
            done,
        }
    }

    #[test]
    fn an_unfinished_pass_goes_on_whichever_run_takes_it_up() {
        assert_eq!(resume(Some(at(1, false)), RunId(1), false, None, NOW), Resume::GoOn(at(1, false)));
        assert_eq!(resume(Some(at(1, false)), RunId(2), false, None, NOW), Resume::GoOn(at(1, false)));
        assert_eq!(resume(Some(at(1, false)), RunId(1), true, None, NOW), Resume::GoOn(at(1, false)));
    }

    #[test]
    fn a_finished_pass_is_never_read_again_by_its_own_run() {
        assert_eq!(resume(Some(at(1, true)), RunId(1), false, None, NOW), Resume::Over { rejected: 0 });
        assert_eq!(resume(Some(at(1, true)), RunId(1), true, None, NOW), Resume::Over { rejected: 0 });
    }

    #[test]
    fn the_next_pass_begins_at_the_highest_value_and_a_fresh_one_at_nothing() {
        let Resume::Begin(next) = resume(Some(at(1, true)), RunId(2), false, None, NOW) else { panic!("a new pass") };
        assert_eq!(
            (next.pass, next.position, next.since, next.high),
            (RunId(2), None, Some(json!(42)), Some(json!(42)))
        );
        let Resume::Begin(fresh) = resume(Some(at(1, true)), RunId(2), true, None, NOW) else { panic!("a new pass") };
        assert_eq!((fresh.since, fresh.high), (None, None));
    }

    #[test]
    fn a_closed_window_is_read_once_unless_asked_for() {
        let closed = |closed_at, fresh| resume(Some(at(1, true)), RunId(2), fresh, Some(Time(closed_at)), NOW);
        assert_eq!(closed(500, false), Resume::Skip);
        assert!(matches!(closed(501, false), Resume::Begin(_)), "it was still open when it was read");
        assert!(matches!(closed(500, true), Resume::Begin(_)));
    }
}
