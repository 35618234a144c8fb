//! The steps of a report, as rows of its batch.

use windrow_model::state::{STEP, StepEvent, StepState};
use windrow_model::step::{StepIntent, StepResult, Usage};
use windrow_model::store::StepWrite;
use windrow_model::{Json, StepId};

use crate::backend::Cell;
use crate::backend::failure::Result;
use crate::sql::codes::{code, goal};
use crate::sql::table::attempts::AttemptHead;
use crate::sql::verb::batch::Batch;

/// A step that exists already stays as it is: the same write may arrive twice.
pub(crate) fn write<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, write: &'tx StepWrite) -> Result<()> {
    let id = |no: &u32| StepId::new(attempt.id, *no);
    // A row shows the finished cells of an item at work.
    if !matches!(write, StepWrite::Begin { .. }) {
        batch.changed(attempt);
    }
    let (id, changed, result, shared) = match write {
        StepWrite::Begin { no, intent } => {
            insert(batch, id(no), intent, Begun::Intent);
            return Ok(());
        }
        StepWrite::Reuse { no, intent, from, taken } => {
            insert(batch, id(no), intent, Begun::Reused(*from, taken.as_ref()));
            return Ok(());
        }
        StepWrite::Finish { no, result, shared } => (id(no), finish(batch, id(no), result), result, *shared),
        StepWrite::Whole { no, intent, result, took_ms } => {
            (id(no), insert(batch, id(no), intent, Begun::Whole(result, *took_ms)), result, intent.shared)
        }
    };
    // Only the first of two equal writes has been paid for.
    if let (true, StepResult::Done { usage, .. }) = (changed > 0, result) {
        batch.spend(attempt.run, *usage)?;
        if shared {
            batch.deferred.shared.push((attempt.run, id));
        }
    }
    Ok(())
}

/// How far a step is when its row is first written.
enum Begun<'a> {
    Intent,
    /// Made already, in so many milliseconds.
    Whole(&'a StepResult, i64),
    Reused(StepId, Option<&'a (Json, Usage)>),
}

fn insert<'tx>(batch: &mut Batch<'tx>, id: StepId, intent: &'tx StepIntent, begun: Begun<'tx>) -> usize {
    let (now, mut took_ms) = (batch.now, 0);
    let (mut output, mut failure, mut usage, mut reused_from) = (None, None, Usage::default(), None);
    let state = match begun {
        Begun::Intent => StepState::Intent,
        Begun::Reused(from, taken) => {
            reused_from = Some(from.0);
            if let Some((made, used)) = taken {
                (output, usage) = (Some(made.as_str()), *used);
            }
            StepState::Reused
        }
        Begun::Whole(StepResult::Done { output: made, usage: used }, took) => {
            took_ms = took;
            (output, usage) = (Some(made.as_str()), *used);
            goal(&STEP, StepEvent::Finish)
        }
        Begun::Whole(StepResult::Failed { failure: why }, took) => {
            took_ms = took;
            failure = Some(why);
            goal(&STEP, StepEvent::Fail)
        }
    };
    let ended_at = (state != StepState::Intent).then_some(now.0);
    let text = |text: Option<&'tx str>| text.map_or(Cell::Null, Cell::Text);
    let int = |int: Option<i64>| int.map_or(Cell::Null, Cell::Int);
    let row = [
        Cell::Int(id.0),
        Cell::Blob(&intent.key.0),
        Cell::Text(&intent.kind),
        Cell::Text(&intent.name),
        Cell::Int(intent.turn.into()),
        Cell::Int(code(state)),
        Cell::Int(code(intent.on_unknown)),
        Cell::Text(intent.input.as_str()),
        text(output),
        int(failure.map(|why| code(why.class))),
        text(failure.map(|why| why.message.as_str())),
        int(failure.and_then(|why| why.retry_after_ms)),
        text(failure.and_then(|why| why.detail.as_ref()).map(Json::as_str)),
        Cell::Int(usage.tokens_in),
        Cell::Int(usage.tokens_out),
        Cell::Int(usage.cost_nanos),
        int(reused_from),
        Cell::Int((now + -took_ms).0),
        int(ended_at),
    ];
    batch.deferred.begin(id.attempt(), id, state, row)
}

fn finish<'tx>(batch: &mut Batch<'tx>, id: StepId, result: &'tx StepResult) -> usize {
    let now = batch.now;
    let (row, failed) = match result {
        StepResult::Done { output, usage } => {
            let (id, output, now) = (Cell::Int(id.0), Cell::Text(output.as_str()), Cell::Int(now.0));
            let used = [usage.tokens_in, usage.tokens_out, usage.cost_nanos].map(Cell::Int);
            ([id, output, used[0], used[1], used[2], now], false)
        }
        StepResult::Failed { failure } => {
            let retry_after = failure.retry_after_ms.map_or(Cell::Null, Cell::Int);
            let detail = failure.detail.as_ref().map_or(Cell::Null, |detail| Cell::Text(detail.as_str()));
            let (class, message) = (Cell::Int(code(failure.class)), Cell::Text(&failure.message));
            ([Cell::Int(id.0), class, message, retry_after, detail, Cell::Int(now.0)], true)
        }
    };
    batch.deferred.finish(id.attempt(), id, row, failed)
}
