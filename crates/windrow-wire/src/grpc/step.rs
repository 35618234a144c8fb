//! Conversions of steps in both directions.

use serde_json::Value;
use windrow_model::failure::Failure;
use windrow_model::record::Step;
use windrow_model::step::{ContentKey, OnUnknown, StepIntent, StepResult, Usage};
use windrow_model::store::StepWrite;
use windrow_model::{Json, StepId, Time};

use super::bad::{Bad, json, missing, parsed};
use super::v1;

pub fn key(bytes: &[u8]) -> Result<ContentKey, Bad> {
    let bytes = bytes.try_into().map_err(|_| Bad(format!("`key` has {} bytes; it must have 16", bytes.len())))?;
    Ok(ContentKey(bytes))
}

impl From<Usage> for v1::Usage {
    fn from(usage: Usage) -> Self {
        let Usage { tokens_in, tokens_out, cost_nanos } = usage;
        Self { tokens_in, tokens_out, cost_nanos }
    }
}

pub fn usage(usage: Option<v1::Usage>) -> Usage {
    let v1::Usage { tokens_in, tokens_out, cost_nanos } = usage.unwrap_or_default();
    Usage { tokens_in, tokens_out, cost_nanos }
}

impl From<Failure> for v1::Failure {
    fn from(failure: Failure) -> Self {
        let Failure { class, message, retry_after_ms, detail, setting, given_up: _ } = failure;
        let detail_json = detail.map(|detail| detail.as_str().to_owned());
        Self { class: class.to_string(), message, retry_after_ms, detail_json, setting }
    }
}

impl TryFrom<v1::Failure> for Failure {
    type Error = Bad;

    fn try_from(failure: v1::Failure) -> Result<Self, Bad> {
        let v1::Failure { class, message, retry_after_ms, detail_json, setting } = failure;
        let detail = detail_json.map(|detail| json("failure.detail_json", detail)).transpose()?;
        Ok(Failure { retry_after_ms, detail, setting, ..Failure::new(parsed("failure.class", &class)?, message) })
    }
}

impl From<OnUnknown> for v1::OnUnknown {
    fn from(on_unknown: OnUnknown) -> Self {
        match on_unknown {
            OnUnknown::Repeat => v1::OnUnknown::Repeat,
            OnUnknown::Verify => v1::OnUnknown::Verify,
            OnUnknown::Fail => v1::OnUnknown::Fail,
        }
    }
}

impl From<v1::OnUnknown> for OnUnknown {
    fn from(on_unknown: v1::OnUnknown) -> Self {
        match on_unknown {
            v1::OnUnknown::Repeat => OnUnknown::Repeat,
            v1::OnUnknown::Verify => OnUnknown::Verify,
            v1::OnUnknown::Fail => OnUnknown::Fail,
        }
    }
}

impl From<StepIntent> for v1::StepIntent {
    fn from(intent: StepIntent) -> Self {
        let StepIntent { key: ContentKey(key), kind, name, turn, input, on_unknown, shared } = intent;
        Self {
            key: key.to_vec(),
            kind: kind.into_owned(),
            name,
            turn,
            input_json: input.as_str().to_owned(),
            determined_by_json: String::new(),
            on_unknown: v1::OnUnknown::from(on_unknown).into(),
            shared,
        }
    }
}

impl TryFrom<v1::StepIntent> for StepIntent {
    type Error = Bad;

    fn try_from(intent: v1::StepIntent) -> Result<Self, Bad> {
        let on_unknown = intent.on_unknown().into();
        let v1::StepIntent { key: given, kind, name, turn, input_json, determined_by_json, shared, .. } = intent;
        if kind.is_empty() {
            return Err(missing("intent.kind"));
        }
        let input = json("intent.input_json", input_json)?;
        let key = match given.is_empty() {
            false => key(&given)?,
            true => {
                let determined_by = json("intent.determined_by_json", determined_by_json)?;
                let by = if determined_by == Json::null() { &input } else { &determined_by };
                key_of(&kind, &name, turn, by)
            }
        };
        Ok(StepIntent { key, kind: kind.into(), name, turn, input, on_unknown, shared })
    }
}

/// Derives the key of a step if its worker sends none. The order of object fields does not matter.
fn key_of(kind: &str, name: &str, turn: u32, determined_by: &Json) -> ContentKey {
    let mut value: Value = determined_by.value();
    value.sort_all_objects();
    let text = value.to_string();
    ContentKey::of(&[b"worker", kind.as_bytes(), name.as_bytes(), &turn.to_le_bytes(), text.as_bytes()])
}

impl From<StepResult> for v1::StepResult {
    fn from(result: StepResult) -> Self {
        let result = match result {
            StepResult::Done { output, usage } => v1::step_result::Result::Done(done(&output, usage)),
            StepResult::Failed { failure } => v1::step_result::Result::Failed(failure.into()),
        };
        Self { result: Some(result) }
    }
}

fn done(output: &Json, usage: Usage) -> v1::StepDone {
    v1::StepDone { output_json: output.as_str().to_owned(), usage: Some(usage.into()) }
}

impl TryFrom<v1::StepResult> for StepResult {
    type Error = Bad;

    fn try_from(result: v1::StepResult) -> Result<Self, Bad> {
        Ok(match result.result.ok_or_else(|| missing("result"))? {
            v1::step_result::Result::Done(v1::StepDone { output_json, usage: used }) => {
                StepResult::Done { output: json("result.done.output_json", output_json)?, usage: usage(used) }
            }
            v1::step_result::Result::Failed(failure) => StepResult::Failed { failure: failure.try_into()? },
        })
    }
}

impl From<StepWrite> for v1::StepWrite {
    fn from(write: StepWrite) -> Self {
        use v1::step_write::Write;
        let (no, write) = match write {
            StepWrite::Begin { no, intent } => (no, Write::Begin(intent.into())),
            StepWrite::Finish { no, result, shared } => {
                (no, Write::Finish(v1::StepFinish { result: Some(result.into()), shared }))
            }
            StepWrite::Whole { no, intent, result, took_ms } => {
                let (intent, result) = (Some(intent.into()), Some(result.into()));
                (no, Write::Whole(v1::StepWhole { intent, result, took_ms }))
            }
            StepWrite::Reuse { no, intent, from, taken } => {
                let taken = taken.map(|(output, usage)| done(&output, usage));
                (no, Write::Reuse(v1::StepReuse { intent: Some(intent.into()), from: from.0, taken }))
            }
        };
        Self { no, write: Some(write) }
    }
}

impl TryFrom<v1::StepWrite> for StepWrite {
    type Error = Bad;

    fn try_from(write: v1::StepWrite) -> Result<Self, Bad> {
        use v1::step_write::Write;
        let no = number(write.no)?;
        let intent =
            |intent: Option<v1::StepIntent>| StepIntent::try_from(intent.ok_or_else(|| missing("step.intent"))?);
        let result =
            |result: Option<v1::StepResult>| StepResult::try_from(result.ok_or_else(|| missing("step.result"))?);
        Ok(match write.write.ok_or_else(|| missing("step.write"))? {
            Write::Begin(begin) => StepWrite::Begin { no, intent: begin.try_into()? },
            Write::Finish(finish) => StepWrite::Finish { no, result: result(finish.result)?, shared: finish.shared },
            Write::Whole(whole) => {
                let took_ms = whole.took_ms.max(0);
                StepWrite::Whole { no, intent: intent(whole.intent)?, result: result(whole.result)?, took_ms }
            }
            Write::Reuse(reuse) => {
                let taken =
                    reuse.taken.map(|taken| Ok((json("taken.output_json", taken.output_json)?, usage(taken.usage))));
                StepWrite::Reuse {
                    no,
                    intent: intent(reuse.intent)?,
                    from: StepId(reuse.from),
                    taken: taken.transpose()?,
                }
            }
        })
    }
}

/// Step numbers are bounded, because they are part of an id.
pub fn number(no: u32) -> Result<u32, Bad> {
    use windrow_model::ids::MAX_STEPS;
    (no <= MAX_STEPS).then_some(no).ok_or_else(|| Bad(format!("`no` is {no}; an item has at most {MAX_STEPS} steps")))
}

impl From<Step> for v1::Step {
    fn from(step: Step) -> Self {
        Self {
            id: step.id.0,
            key: step.key.0.to_vec(),
            kind: step.kind,
            name: step.name,
            turn: step.turn,
            state: step.state.to_string(),
            on_unknown: v1::OnUnknown::from(step.on_unknown).into(),
            input_json: step.input.as_str().to_owned(),
            output_json: step.output.map(|output| output.as_str().to_owned()),
            usage: Some(step.usage.into()),
            failure: step.failure.map(Into::into),
            reused_from: step.reused_from.map(|from| from.0),
            started_at_ms: step.started_at.0,
            ended_at_ms: step.ended_at.map(|at| at.0),
        }
    }
}

impl TryFrom<v1::Step> for Step {
    type Error = Bad;

    fn try_from(step: v1::Step) -> Result<Self, Bad> {
        let on_unknown = step.on_unknown().into();
        Ok(Step {
            id: StepId(step.id),
            key: key(&step.key)?,
            kind: step.kind,
            name: step.name,
            turn: step.turn,
            state: parsed("step.state", &step.state)?,
            on_unknown,
            input: json("step.input_json", step.input_json)?,
            output: step.output_json.map(|output| json("step.output_json", output)).transpose()?,
            failure: step.failure.map(TryInto::try_into).transpose()?,
            usage: usage(step.usage),
            reused_from: step.reused_from.map(StepId),
            started_at: Time(step.started_at_ms),
            ended_at: step.ended_at_ms.map(Time),
        })
    }
}
