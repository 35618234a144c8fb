//! How an attempt ends: handed in, retried, released, lost or abandoned. Every
//! ending closes its open steps and frees its resource.

use windrow_model::event::{PartialItem, ScoreNote};
use windrow_model::ids::MAX_TRIES;
use windrow_model::record::LogLevel;
use windrow_model::state::{ATTEMPT, AttemptEvent, Outcome};
use windrow_model::step::{Score, Usage, shown_while_running};
use windrow_model::store::Ending;
use windrow_model::{ErrorClass, Failure, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Change, params};
use crate::sql::codes::keyed_guard;
use crate::sql::table::attempts::{AttemptHead, Tries};
use crate::sql::table::journal::Note;
use crate::sql::table::scores::{self, Part};
use crate::sql::verb::batch::Batch;
use crate::sql::verb::ended_attempts::{HandedIn, logged_row, over_row};

pub(crate) static PARTIAL: Change = Change::written("attempts", |d| {
    let guard = keyed_guard(d, &ATTEMPT, AttemptEvent::Renew);
    let shown = "partial = 1, latency_ms = ?3, tokens_in = ?4, tokens_out = ?5, cost_nanos = ?6";
    [shown.into(), format!("id = ?1 AND fence = ?2 AND {guard}")]
});
pub(crate) static SHOW_PART: Change = Change::update(
    "items",
    "archived = ?2, archived_part = ?3, latency_ms = ?4, tokens_in = ?5, tokens_out = ?6, cost_nanos = ?7",
    "id = ?1",
);

pub(crate) fn end<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, ending: &'tx Ending) -> Result<()> {
    match ending {
        Ending::None => Ok(()),
        Ending::Partial { scores, usage, latency_ms } => show_part(batch, attempt, scores, *usage, *latency_ms),
        Ending::HandIn { outcome: Outcome::Failed, scores, usage, failure: Some(failure), .. }
            if scores.is_empty() && *usage == Usage::default() =>
        {
            fail(batch, attempt, failure);
            Ok(())
        }
        Ending::HandIn { outcome, scores, usage, latency_ms, failure } => {
            let error = failure.as_ref().map(|failure| (failure.class, failure.message.as_str()));
            let (outcome, usage, latency_ms) = (*outcome, *usage, *latency_ms);
            hand_in(batch, attempt, &HandedIn { outcome, scores, usage, latency_ms, error })
        }
        Ending::Retry { failure, .. } if attempt.id.no() >= MAX_TRIES => {
            fail(batch, attempt, failure);
            Ok(())
        }
        Ending::Retry { failure, not_before } => retry(batch, attempt, failure, *not_before),
        Ending::Release => release(batch, attempt),
    }
}

fn hand_in<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, result: &HandedIn<'tx>) -> Result<()> {
    let row = logged_row(batch.now, attempt, result);
    batch.deferred.handed_in.push(row);
    batch.ended(attempt, AttemptEvent::HandIn, Some(result.outcome));
    batch.deferred.keep_scores(attempt.id, Part::Whole, result.scores);
    if batch.mode_of(attempt.run)?.keeps_columns() && result.outcome == Outcome::Succeeded {
        batch.flush()?;
        scores::carry_over(batch.tx, attempt.id)?;
    }
    clean_up_after(batch, attempt);
    Ok(())
}

/// Its worker disappeared once too often.
pub(crate) fn abandon(batch: &mut Batch, attempt: &AttemptHead) -> Result<()> {
    let losses = attempt.tries.losses + 1;
    fail(batch, attempt, &Failure::new(ErrorClass::Lost, format!("its worker disappeared {losses} times")));
    Ok(())
}

/// It failed and says nothing of what it finished: what the run has shown of the item stands.
fn fail(batch: &mut Batch, attempt: &AttemptHead, failure: &Failure) {
    batch.endings.failed_attempts.push((attempt.clone(), failure.class, failure.message.clone()));
    batch.ended(attempt, AttemptEvent::HandIn, Some(Outcome::Failed));
    clean_up_after(batch, attempt);
}

/// The worker goes on; the snapshot shows what there is.
fn show_part<'tx>(
    batch: &mut Batch<'tx>,
    attempt: &AttemptHead,
    scores: &'tx [Score],
    usage: Usage,
    latency_ms: i64,
) -> Result<()> {
    let tx = batch.tx;
    batch.changed(attempt);
    batch.flush()?;
    let keeps_columns = batch.mode_of(attempt.run)?.keeps_columns();
    let earlier = if keeps_columns { scores::of_items(tx, &[attempt.id.item()])?.remove(0) } else { Vec::new() };
    let Usage { tokens_in, tokens_out, cost_nanos } = usage;
    let shown = params![attempt.id.0, attempt.fence, latency_ms, tokens_in, tokens_out, cost_nanos];
    let changed = tx.prepare_cached(&PARTIAL)?.execute(shown)?;
    expect_rows(changed, 1, "partial attempt")?;
    let (item, part) = (attempt.id.item().0, Part::Partial as i64);
    let shown = params![item, attempt.id.0, part, latency_ms, tokens_in, tokens_out, cost_nanos];
    let changed = tx.prepare_cached(&SHOW_PART)?.execute(shown)?;
    expect_rows(changed, 1, "snapshot of an item")?;
    if !keeps_columns {
        scores::forget(tx, attempt.id, Part::Partial)?;
        batch.show(attempt.run, PartialItem { id: attempt.id.item(), scores: ScoreNote::all(scores) })?;
        batch.deferred.keep_scores(attempt.id, Part::Partial, scores);
        return Ok(());
    }
    let shown = shown_while_running(earlier, scores);
    scores::forget(tx, attempt.id, Part::Partial)?;
    let rows: Vec<[Cell; 8]> = shown.iter().map(|score| scores::row(attempt.id, Part::Partial, score)).collect();
    expect_rows(tx.execute_many(&scores::KEEP, &rows)?, rows.len(), "scores")?;
    batch.show(attempt.run, PartialItem { id: attempt.id.item(), scores: ScoreNote::all(&shown) })
}

fn retry<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, failure: &'tx Failure, not_before: Time) -> Result<()> {
    let row = over_row(batch.now, attempt, Outcome::Retried, (failure.class, &failure.message));
    batch.endings.retried.push(row);
    batch.ended(attempt, AttemptEvent::Retry, Some(Outcome::Retried));
    let mut tries = attempt.tries;
    match failure.class {
        ErrorClass::RateLimited => tries.throttled += 1,
        _ => tries.retries += 1,
    }
    try_again(batch, attempt, tries, not_before)?;
    warn(batch, attempt, "item_retry", failure.to_string())
}

/// Its worker disappeared; the next try starts at once.
pub(crate) fn lose(batch: &mut Batch, attempt: &AttemptHead) -> Result<()> {
    const WHY: &str = "its worker disappeared";
    batch.endings.lost.push(over_row(batch.now, attempt, Outcome::Lost, (ErrorClass::Lost, WHY)));
    let tries = Tries { losses: attempt.tries.losses + 1, ..attempt.tries };
    try_again(batch, attempt, tries, batch.now)?;
    warn(batch, attempt, "item_lost", WHY.to_owned())
}

fn try_again(batch: &mut Batch, last: &AttemptHead, tries: Tries, due_at: Time) -> Result<()> {
    batch.changed(last);
    batch.endings.next.push((last.clone(), tries, due_at));
    let moved = batch.moved(last.run)?;
    moved.running -= 1;
    moved.queued += 1;
    moved.retries += 1;
    clean_up_after(batch, last);
    Ok(())
}

fn release(batch: &mut Batch, attempt: &AttemptHead) -> Result<()> {
    batch.endings.released.push([attempt.id.0, attempt.fence, batch.now.0].map(Cell::Int));
    batch.changed(attempt);
    batch.ended(attempt, AttemptEvent::Release, attempt.outcome);
    let moved = batch.moved(attempt.run)?;
    moved.running -= 1;
    moved.queued += 1;
    clean_up_after(batch, attempt);
    Ok(())
}

/// After a worker's last word: steps it left open have an unknown outcome, its resource is free.
fn clean_up_after(batch: &mut Batch, attempt: &AttemptHead) {
    batch.endings.freed.extend(attempt.resource.clone());
    batch.deferred.mark_unknown(attempt.id);
}

fn warn(batch: &mut Batch, attempt: &AttemptHead, event: &str, message: String) -> Result<()> {
    let (job, run, item) = (batch.job_of(attempt.run)?, attempt.run, Some(attempt.id.item()));
    batch.endings.warnings.push(Note { job, run, item, level: LogLevel::Warn, event, message }.into());
    Ok(())
}
