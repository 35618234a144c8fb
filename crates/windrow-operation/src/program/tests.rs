//! The fold of history, the decisions of a handler, and the loop between them, on a target in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;
use windrow_jobfile::environment::Environment;
use windrow_model::limit::{Demand, Permit};
use windrow_model::record::Step;
use windrow_model::retry::{RetryPolicy, Tried};
use windrow_model::state::StepState;
use windrow_model::step::{ContentKey, OnUnknown, Recalled, StepIntent, StepResult, Usage};
use windrow_model::workload::{Done, Halt, Journal, Program, RunsOn, StepNo, Stopped, WorkItem};
use windrow_model::{AttemptId, ErrorClass, Failure, ItemId, Json, RunId, StepId, Time};

use crate::change_record::change_records;
use crate::handler::{Call, ChangeContext, Handler, Next, PastCall, Trouble, Way};
use crate::kafka_connect;
use crate::program::Operation;
use crate::spec::Targets;
use crate::target::Target;
use crate::target_source::TargetSource;
use crate::veil::Veil;

fn step(attempt: u32, kind: &str, name: &str, state: StepState, output: Value) -> Step {
    Step {
        id: StepId::new(AttemptId::new(ItemId(1), attempt), 0),
        key: ContentKey::of(&[kind.as_bytes()]),
        kind: kind.into(),
        name: name.into(),
        turn: 0,
        state,
        on_unknown: OnUnknown::Verify,
        input: Json::of(&json!({})),
        output: Some(Json::of(&output)),
        failure: None,
        usage: Usage::default(),
        reused_from: None,
        started_at: Time(0),
        ended_at: None,
    }
}

fn capture(attempt: u32, before: i64, after: i64) -> Step {
    step(attempt, "capture", "", StepState::Done, json!({ "before": before, "after": after }))
}

fn done(attempt: u32, kind: &str, name: &str) -> Step {
    step(attempt, kind, name, StepState::Done, json!(2))
}

#[test]
fn history_folds_into_one_record_per_change() {
    let open = step(1, "apply", "set", StepState::Intent, Value::Null);
    let history = [capture(1, 1, 2), open, capture(2, 1, 2), done(2, "verify", ""), capture(3, 2, 3)];
    let changes = change_records(&history);
    assert_eq!(changes.len(), 2, "a pre-image that is taken again belongs to the open change");
    let first = &changes[0];
    assert_eq!((&first.before, &first.after, first.refined), (&json!(1), &json!(2), true));
    assert_eq!(first.past_calls(Way::Apply), [PastCall { name: "set".into(), answered: false }]);
    assert_eq!(first.reached, Some((json!(2), 2)));
    assert!(first.may_have_changed() && !first.is_open());
    assert!(changes[1].is_open() && !changes[1].may_have_changed(), "nothing was called");
}

#[test]
fn an_undo_half_done_reopens_the_change_and_a_restore_closes_it() {
    let mut history = vec![capture(1, 1, 2), done(1, "apply", "set"), done(1, "verify", ""), done(2, "undo", "set")];
    let half = change_records(&history).pop().unwrap();
    assert!(half.turned && half.is_open() && half.may_have_changed());
    let mut again = half.clone();
    again.restart();
    assert!(again.past_calls(Way::Apply).is_empty() && again.reached.is_none(), "the calls there are made again");
    history.push(done(2, "restore", ""));
    let restored = change_records(&history).pop().unwrap();
    assert_eq!(restored.restored, Some(2));
    assert!(!restored.is_open() && !restored.may_have_changed());
}

#[test]
fn a_rejected_call_leaves_no_mark_and_a_failed_program_may() {
    let failed = |class| Step {
        failure: Some(Failure::new(class, "no")),
        ..step(1, "apply", "set", StepState::Failed, Value::Null)
    };
    let touched = |class| change_records(&[capture(1, 1, 2), failed(class)])[0].touched;
    assert!(!touched(ErrorClass::InvalidRequest) && touched(ErrorClass::Handler));
}

#[test]
fn kafka_connect_decides_the_next_call_from_the_image_alone() {
    let build = |action: &str| {
        let config = json!({ "url": "http://127.0.0.1:1", "do": action });
        kafka_connect::build(config, &Environment::new(|_| None)).unwrap()
    };
    let next = |action: &str, now: Value, called: &[&str]| {
        let goal = if action == "pause" { "PAUSED" } else { "STOPPED" };
        let (before, after) = (json!({ "state": "RUNNING" }), json!({ "state": goal }));
        let past = called.iter().map(|name| PastCall { name: (*name).into(), answered: true }).collect::<Vec<_>>();
        let target = Target::named("orders");
        let next = build(action).next(&ChangeContext {
            target: &target,
            way: Way::Apply,
            before: &before,
            after: &after,
            now: Some(&now),
            past_calls: &past,
            calls: &past,
            refined: false,
        });
        match next.unwrap() {
            Next::Call(call) => call.name,
            Next::Wait(_) => "wait".into(),
            Next::Reached => "reached".into(),
            Next::RefinePreimage => "refine".into(),
        }
    };
    assert_eq!(next("stop", json!({ "state": "RUNNING", "tasks": ["RUNNING"] }), &[]), "stop");
    assert_eq!(next("stop", json!({ "state": "STOPPED", "tasks": ["RUNNING"] }), &["stop"]), "wait");
    assert_eq!(next("stop", json!({ "state": "STOPPED", "tasks": [] }), &["stop"]), "reached");
    assert_eq!(next("restart", json!({ "state": "RUNNING", "tasks": ["RUNNING"] }), &[]), "restart");
    assert_eq!(next("restart", json!({ "state": "RUNNING", "tasks": ["RUNNING"] }), &["restart"]), "reached");
    assert_eq!(next("pause", json!({ "state": "PAUSED", "tasks": ["PAUSED", "RUNNING"] }), &["pause"]), "wait");
    assert_eq!(next("pause", json!({ "state": "PAUSED", "tasks": ["PAUSED", "PAUSED"] }), &["pause"]), "reached");
}

/// A number that `set` changes; the answers of its calls are scripted.
struct Register {
    value: Mutex<i64>,
    answers: Mutex<VecDeque<Answer>>,
    /// Nobody is there until then.
    away_until: Option<Instant>,
}

impl Register {
    fn away(&self) -> Option<Failure> {
        let away = self.away_until.is_some_and(|until| Instant::now() < until);
        let endpoint = Json::of(&json!({ "endpoint": "connect:8083" }));
        away.then(|| Failure::new(ErrorClass::Network, "cannot connect to connect:8083").with_detail(endpoint))
    }
}

#[derive(Clone, Copy)]
enum Answer {
    Good,
    /// It takes effect, and the answer is lost.
    Lost,
    /// It takes no effect, and the answer is lost.
    Dropped,
    Busy,
    Rejected,
}

#[async_trait]
impl Handler for Register {
    fn lock(&self, target: &Target) -> String {
        target.name.clone()
    }
    async fn read(&self, _target: &Target) -> Result<Option<Value>, Failure> {
        match self.away() {
            Some(failure) => Err(failure),
            None => Ok(Some(json!(*self.value.lock().unwrap()))),
        }
    }
    fn after(&self, _target: &Target, _before: &Value) -> Result<Value, Failure> {
        Ok(json!(2))
    }
    fn next(&self, context: &ChangeContext<'_>) -> Result<Next, Failure> {
        Ok(match context.now == Some(context.goal()) {
            true => Next::Reached,
            false => Next::call("set", context.goal().clone()),
        })
    }
    async fn call(&self, _target: &Target, call: &Call, _key: &ContentKey) -> Result<Value, Trouble> {
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Good);
        if let Answer::Good | Answer::Lost = answer {
            *self.value.lock().unwrap() = call.input.as_i64().unwrap();
        }
        let failure = || Failure::new(ErrorClass::Network, "no answer");
        match answer {
            Answer::Good => Ok(json!("ok")),
            Answer::Lost | Answer::Dropped => Err(Trouble::Unknown(failure())),
            Answer::Busy => Err(Trouble::Busy(failure())),
            Answer::Rejected => Err(Trouble::Failed(failure())),
        }
    }
}

#[derive(Default)]
struct Memory {
    history: Vec<Step>,
    story: Mutex<Vec<String>>,
    waited: Mutex<Duration>,
}

#[async_trait]
impl Journal for Memory {
    fn history(&self) -> &[Step] {
        &self.history
    }
    fn recall(&self, _key: &ContentKey) -> Option<Recalled> {
        None
    }
    async fn look_up(&self, _key: &ContentKey) -> Option<Recalled> {
        None
    }
    async fn admit(&self, _demand: Demand) -> Result<Permit, Stopped> {
        Ok(Permit::free())
    }
    async fn wait_out(&self, endpoint: &str, pause: Duration) -> Result<(), Stopped> {
        assert!(endpoint == "connect:8083" && pause <= Duration::from_secs(10));
        *self.waited.lock().unwrap() += pause;
        tokio::time::sleep(pause).await;
        Ok(())
    }
    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped> {
        self.story.lock().unwrap().push(format!("{} {}", intent.kind, intent.input.as_str()));
        Ok(StepNo { no: 0, shared: false })
    }
    fn finish(&self, _no: StepNo, result: StepResult) {
        let good = matches!(result, StepResult::Done { .. });
        self.story.lock().unwrap().push(if good { "done" } else { "failed" }.to_owned());
    }
    fn whole(&self, intent: StepIntent, _result: StepResult, _: i64) {
        self.story.lock().unwrap().push(intent.kind.to_string());
    }
    fn reuse(&self, _intent: StepIntent, _from: StepId, _taken: Option<(Json, Usage)>) {}
    async fn hand_in_partial(&self, _done: Done) -> Result<(), Stopped> {
        Ok(())
    }
    fn stopping(&self) -> bool {
        false
    }
}

/// One attempt at a register that holds `value`: how it ended, the value then, and what was recorded.
async fn attempt(
    value: i64,
    answers: &[Answer],
    history: Vec<Step>,
    rollback: bool,
) -> (Result<Done, Halt>, i64, String) {
    let answers = Mutex::new(answers.iter().copied().collect());
    let register = Arc::new(Register { value: Mutex::new(value), answers, away_until: None });
    let journal = Memory { history, ..Memory::default() };
    let done = operate(register.clone(), &journal, rollback).await;
    let story = journal.story.lock().unwrap().join(", ");
    let value = *register.value.lock().unwrap();
    (done, value, story)
}

async fn operate(handler: Arc<dyn Handler>, journal: &Memory, rollback: bool) -> Result<Done, Halt> {
    operation(handler).execute(&work_item(rollback), journal).await
}

fn operation(handler: Arc<dyn Handler>) -> Operation {
    Operation {
        targets: TargetSource::new(Targets::Inline(Vec::new()), "default", None),
        handler,
        health: None,
        veil: Veil::new(Environment::new(|_| None)),
        retry: RetryPolicy::default(),
        timeout_ms: 1_000,
        unreachable_for: Duration::from_secs(300),
        runs_on: RunsOn::Here,
        irreversible: None,
        definition: "v1".to_owned(),
        force: false,
    }
}

fn work_item(rollback: bool) -> WorkItem {
    let target = Target::named("one");
    WorkItem {
        run: RunId(1),
        attempt: AttemptId::new(ItemId(1), 2),
        ordinal: 0,
        key: target.key(),
        input: Json::of(&target),
        tried: Tried::default(),
        first_try: 2,
        rescore: false,
        retry_from: None,
        fresh: false,
        proven: true,
        rollback,
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_cannot_be_reached_is_waited_for() {
    for (away_s, comes_back) in [(6, true), (290, true), (400, false)] {
        let away_until = Some(Instant::now() + Duration::from_secs(away_s));
        let register = Arc::new(Register { value: Mutex::new(1), answers: Mutex::default(), away_until });
        let journal = Memory::default();
        let done = operate(register.clone(), &journal, false).await;
        let waited = journal.waited.lock().unwrap().as_secs();
        match done {
            Ok(_) => assert!(comes_back && (away_s - 1..=away_s + 10).contains(&waited), "{waited} s"),
            Err(Halt::Failed(failure)) => {
                assert!(!comes_back && failure.given_up && (300..=310).contains(&waited), "{failure} after {waited} s");
            }
            Err(stopped) => panic!("{stopped}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_is_recorded_first_and_the_target_is_read_after_it() {
    let (done, value, story) = attempt(1, &[], vec![], false).await;
    assert_eq!((done.unwrap().skipped, value), (false, 2));
    assert_eq!(story, "validate, capture, apply 2, done, verify");
    let (done, _, story) = attempt(2, &[], vec![], false).await;
    assert_eq!((done.unwrap().skipped, story.as_str()), (true, "validate"), "it is up to date");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_read_back_and_a_call_is_repeated_only_without_effect() {
    let (done, value, story) = attempt(1, &[Answer::Lost], vec![], false).await;
    assert_eq!((done.is_ok(), value), (true, 2));
    assert_eq!(story, "validate, capture, apply 2, done, verify");
    let (_, value, story) = attempt(1, &[Answer::Dropped, Answer::Busy], vec![], false).await;
    assert_eq!(value, 2);
    assert_eq!(story, "validate, capture, apply 2, failed, apply 2, failed, apply 2, done, verify");
    let (done, value, story) = attempt(1, &[Answer::Rejected], vec![], false).await;
    assert_eq!((done.is_err(), value, story.as_str()), (true, 1, "validate, capture, apply 2, failed"));
}

mod histories;

#[tokio::test(start_paused = true)]
async fn a_rollback_restores_the_preimage_unless_somebody_else_changed_the_target() {
    let applied = || vec![capture(1, 1, 2), done(1, "apply", "set"), done(1, "verify", "")];
    let (undone, value, story) = attempt(2, &[], applied(), true).await;
    assert_eq!((undone.is_ok(), value, story.as_str()), (true, 1, "undo 1, done, restore"));
    let (conflict, value, story) = attempt(7, &[], applied(), true).await;
    assert!(conflict.unwrap_err().to_string().contains("--force"));
    assert_eq!((value, story.as_str()), (7, "conflict"));
    let (nothing, _, _) = attempt(1, &[], vec![capture(1, 1, 2)], true).await;
    assert!(nothing.unwrap().skipped, "nothing was called");
}
