//! Round trips: a message converts to the model and back without loss.

use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::state::Outcome;
use windrow_model::step::{ContentKey, OnUnknown, Score, StepIntent, StepResult, Usage, Verdict};
use windrow_model::store::{Ending, Report, StepWrite};
use windrow_model::{AttemptId, ItemId, Json, Lease, RunId, StepId, Time};

use super::{Told, v1};

const NOW: Time = Time(1_800_000_000_000);

fn intent() -> StepIntent {
    StepIntent {
        key: ContentKey::of(&[b"a"]),
        kind: "evaluator".into(),
        name: "exact".into(),
        turn: 2,
        input: Json::of(&["x"]),
        on_unknown: OnUnknown::Verify,
        shared: true,
    }
}

fn failure() -> Failure {
    let failure = Failure::new(ErrorClass::RateLimited, "slow down").retry_after(Some(7));
    failure.with_detail(Json::of(&1)).at_setting("`limits`")
}

#[test]
fn reports_round_trip() {
    let usage = Usage { tokens_in: 1, tokens_out: 2, cost_nanos: 3 };
    let done = StepResult::Done { output: Json::of("out"), usage };
    let failed = StepResult::Failed { failure: failure() };
    let steps = vec![
        StepWrite::Begin { no: 0, intent: intent() },
        StepWrite::Finish { no: 0, result: done.clone(), shared: true },
        StepWrite::Whole { no: 1, intent: intent(), result: failed, took_ms: 7 },
        StepWrite::Reuse { no: 2, intent: intent(), from: StepId(9), taken: Some((Json::of("out"), usage)) },
        StepWrite::Reuse { no: 3, intent: intent(), from: StepId(9), taken: None },
    ];
    let score = |value, verdict| Score {
        name: "exact".into(),
        version: "v".into(),
        turn: 1,
        verdict,
        value,
        reason: "because".into(),
    };
    let scores = vec![score(Some(0.5), Verdict::Pass), score(None, Verdict::Error)];
    let (latency_ms, failure) = (5, failure());
    let endings = [
        Ending::None,
        Ending::Partial { scores: scores.clone(), usage, latency_ms },
        Ending::HandIn { outcome: Outcome::Succeeded, scores, usage, latency_ms, failure: None },
        Ending::HandIn {
            outcome: Outcome::Failed,
            scores: Vec::new(),
            usage,
            latency_ms,
            failure: Some(failure.clone()),
        },
        Ending::Retry { failure, not_before: NOW + 250 },
        Ending::Release,
    ];
    let lease = Lease { run: RunId(5), attempt: AttemptId::new(ItemId(3), 2), fence: 4 };
    for ending in endings {
        let report = Report { lease, steps: steps.clone(), ending: ending.clone() };
        let told = v1::ItemReport::of(report, NOW).read(NOW).unwrap();
        assert_eq!(told, Told { lease, steps: steps.clone(), ending: Ok(ending) });
    }
}

/// The server derives equal keys from equal content, regardless of formatting.
#[test]
fn step_keys_are_derived_from_kind_name_turn_and_content() {
    let key = |kind: &str, name: &str, turn, input: &str, by: &str| {
        let intent = v1::StepIntent {
            kind: kind.into(),
            name: name.into(),
            turn,
            input_json: input.into(),
            determined_by_json: by.into(),
            ..Default::default()
        };
        StepIntent::try_from(intent).unwrap().key
    };
    let first = key("target", "", 0, r#"{"a": 1, "b": {"c": 2, "d": 3}}"#, "");
    assert_eq!(first, key("target", "", 0, r#"{"b":{"d":3,"c":2},"a":1}"#, ""));
    assert_eq!(first, key("target", "", 0, "null", r#"{"a": 1, "b": {"c": 2, "d": 3}}"#));
    let others = [
        key("evaluator", "", 0, r#"{"a":1,"b":{"c":2,"d":3}}"#, ""),
        key("target", "x", 0, r#"{"a":1,"b":{"c":2,"d":3}}"#, ""),
        key("target", "", 1, r#"{"a":1,"b":{"c":2,"d":3}}"#, ""),
        key("target", "", 0, r#"{"a":1,"b":{"c":2,"d":4}}"#, ""),
    ];
    assert!(others.iter().all(|other| *other != first));
}

#[test]
fn an_invalid_message_is_rejected_with_its_field() {
    let lease = Some(v1::LeaseId { run: "run_x".into(), attempt: 1, fence: 1 });
    let bad = v1::ItemReport { lease, ..Default::default() }.read(NOW).unwrap_err();
    assert!(bad.0.contains("lease.run"), "{bad}");
    let outcome = v1::HandIn { outcome: "lost".into(), ..Default::default() };
    let ending = Some(v1::item_report::Ending::HandIn(outcome));
    let bad = v1::ItemReport { lease: None, steps: Vec::new(), ending }.read(NOW).unwrap_err();
    assert!(bad.0.contains("hand_in.outcome"), "{bad}");
    let intent = v1::StepIntent { kind: "target".into(), input_json: "{".into(), ..Default::default() };
    assert!(StepIntent::try_from(intent).unwrap_err().0.contains("input_json"));
}
