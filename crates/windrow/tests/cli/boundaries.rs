//! SIGKILL at every step boundary of one item. Finished calls are never repeated (E18). Calls in flight are repeated
//! once, because their outcome is unknown.
//!
//! The gate of the endpoint holds the item at call n, so every moment is hit deterministically: before the answer is
//! sent, after it was sent and before it is read, and after it is recorded.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use windrow_model::state::StepState;

use crate::endpoint::Endpoint;
use crate::place::{Background, Place, wait_until};
use crate::torture::code;

/// Three turns with one call of the target and one of the judge each, or of the simulated user and the target.
const CALLS: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The endpoint has received the question and not answered.
    InFlight,
    /// The answer is sent to a process that no longer reads.
    Unread,
    /// The answer is recorded; the next call is not answered.
    Recorded,
}

fn scripted(place: &Place, endpoint: &Endpoint) {
    let turns: Vec<Value> = (1..4).map(|n| json!({"question": format!("question {n}")})).collect();
    let judged = "  prompt: \"{{ question }}\"\nevaluators:\n  - exact: { expect: \"answer {{ question }}\" }\n  - \
                  judge: { model: { MODEL }, rubric: Is it an answer? }\n";
    place.write_experiment(endpoint, &[json!({"turns": turns})], judged);
}

fn simulated(place: &Place, endpoint: &Endpoint) {
    let played = "conversation:\n  simulated: { user: { MODEL }, persona: curious, goal: to learn, max_turns: 3 }\n\
                  evaluators:\n  - contains: { expect: answer }\n  - not: { refusal: {}, name: willing }\n";
    place.write_experiment(endpoint, &[json!({"n": 1})], played);
}

#[test]
fn every_boundary_of_three_turns_with_two_evaluators_survives_a_kill() {
    for call in 1..=CALLS {
        for moment in [Moment::InFlight, Moment::Unread, Moment::Recorded] {
            let result = killed_once(scripted, call, moment);
            for evaluator in ["exact", "judge"] {
                let found = &result["evaluators"][evaluator];
                assert_eq!((&found["n"], &found["pass"]), (&3.into(), &3.into()), "{evaluator}, {moment:?} {call}");
            }
        }
    }
}

#[test]
fn every_boundary_of_a_conversation_with_a_simulated_user_survives_a_kill() {
    for call in 1..=CALLS {
        for moment in [Moment::InFlight, Moment::Unread, Moment::Recorded] {
            let result = killed_once(simulated, call, moment);
            assert_eq!(result["evaluators"]["contains"]["pass"], 3, "{moment:?} {call}");
        }
    }
}

/// Runs the job, kills it at call `n`, runs it again, and compares the calls of the endpoint with the steps recorded at
/// the kill.
fn killed_once(write: fn(&Place, &Endpoint), n: usize, moment: Moment) -> Value {
    let before = if moment == Moment::Recorded { n } else { n - 1 };
    let endpoint = Endpoint::gated(before);
    let place = Place::empty();
    write(&place, &endpoint);
    let run = place.start(&["run", "job.yaml", "--quiet"]);
    match moment {
        Moment::InFlight => {
            wait_until("the call to be in flight", || endpoint.calls() == n);
            run.kill();
        }
        Moment::Unread => {
            wait_until("the call to be in flight", || endpoint.calls() == n);
            kill_before_it_reads(&endpoint, run, n);
        }
        Moment::Recorded => {
            wait_until("the answer to be on record", || steps(&place, StepState::Done).len() >= n);
            run.kill();
        }
    }
    let finished = steps(&place, StepState::Done);
    let unknown = steps(&place, StepState::Intent);
    assert_eq!(finished.len(), before, "{moment:?} {n}");
    let at_the_kill = endpoint.calls_by_question();
    endpoint.open_gate();
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    // After the last call the run may have ended before the kill.
    assert!(result["resumed"] == true || before == CALLS, "{moment:?} {n}");

    let calls = endpoint.calls_by_question();
    assert_eq!(calls.len(), CALLS, "{moment:?} {n}: {calls:?}");
    let repeated: BTreeMap<&String, &usize> = calls.iter().filter(|(_, times)| **times != 1).collect();
    if moment == Moment::Recorded {
        // The next call may already be in flight.
        let begun = at_the_kill.len() - n;
        assert!(unknown.len() <= 1 && begun <= unknown.len(), "{n}: {begun} begun, on record {unknown:?}");
        assert_eq!(repeated.values().copied().collect::<Vec<_>>(), vec![&2; begun], "{n}: {calls:?}");
    } else {
        assert_eq!(unknown.len(), 1, "{moment:?} {n}");
        assert_eq!(repeated.values().copied().collect::<Vec<_>>(), [&2], "{moment:?} {n}: {calls:?}");
    }
    for question in repeated.keys() {
        assert!(unknown.iter().any(|input| asks(input, question)), "{question:?} was finished and made again");
        assert!(!finished.iter().any(|input| asks(input, question)), "{question:?} was finished and made again");
    }
    result
}

fn kill_before_it_reads(endpoint: &Endpoint, run: Background, n: usize) {
    run.freeze();
    endpoint.let_through(1);
    wait_until("the answer to be sent", || endpoint.answered() == n);
    run.kill();
}

/// The inputs of all recorded calls in this state.
fn steps(place: &Place, state: StepState) -> BTreeSet<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(db) = Connection::open_with_flags(place.database(), flags) else { return BTreeSet::new() };
    let calls = "SELECT input FROM steps WHERE state = ? AND kind IN ('target', 'call')";
    // The process may be killed before it creates the tables.
    let Ok(mut query) = db.prepare(calls) else { return BTreeSet::new() };
    query.query_map([code(state)], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Whether a recorded input ends with this question.
fn asks(input: &str, question: &str) -> bool {
    let request: Value = serde_json::from_str(input).unwrap();
    request["messages"].as_array().and_then(|all| all.last()).is_some_and(|last| last["content"] == question)
}
