//! How an attempt ends: handed in, released for another try, given back, lost or abandoned. Every
//! ending closes its open steps and frees its resource.

use windrow_model::event::{PartialItem, ScoreNote};
use windrow_model::ids::MAX_TRIES;
use windrow_model::record::LogLevel;
use windrow_model::state::{ATTEMPT, AttemptEvent, Outcome};
use windrow_model::step::{Score, Usage, shown_while_running};
use windrow_model::store::{Ending, NewLog};
use windrow_model::{ErrorClass, Failure, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Change, Connection, Dialect, params};
use crate::sql::codes::{code, goal_code, keyed_guard};
use crate::sql::table::attempts::{self, AttemptHead, Tries};
use crate::sql::table::journal::{self, Note};
use crate::sql::table::scores::{self, Part};
use crate::sql::verb::report::Batch;
use crate::sql::verb::unblock;

/// What a lease ends with: its state, `more` that is set, and the guard of its row.
fn ended(d: Dialect, event: AttemptEvent, more: &str) -> [String; 2] {
    let (goal, guard) = (goal_code(&ATTEMPT, event), keyed_guard(d, &ATTEMPT, event));
    [format!("state = {goal}, {more}"), format!("id = ?1 AND fence = ?2 AND {guard}")]
}

const OVER: &str = "outcome = ?3, ended_at = ?4, error_class = ?5, error_message = ?6";
const LOGGED: &str = "outcome = ?3, ended_at = ?4, error_class = ?5, error_message = ?6, \
     latency_ms = ?7, tokens_in = ?8, tokens_out = ?9, cost_nanos = ?10";

pub(crate) static HAND_IN: Change = Change::written("attempts", |d| ended(d, AttemptEvent::HandIn, LOGGED));
pub(crate) static ABANDON: Change = Change::written("attempts", |d| ended(d, AttemptEvent::Abandon, LOGGED));
pub(crate) static RELEASE: Change = Change::written("attempts", |d| ended(d, AttemptEvent::Retry, OVER));
pub(crate) static LOSE: Change = Change::written("attempts", |d| ended(d, AttemptEvent::Lose, OVER));
pub(crate) static GIVE_BACK: Change =
    Change::written("attempts", |d| ended(d, AttemptEvent::Release, "owner = NULL, due_at = ?3"));
pub(crate) static PARTIAL: Change = Change::written("attempts", |d| {
    let guard = keyed_guard(d, &ATTEMPT, AttemptEvent::Renew);
    let shown = "partial = 1, latency_ms = ?3, tokens_in = ?4, tokens_out = ?5, cost_nanos = ?6";
    [shown.into(), format!("id = ?1 AND fence = ?2 AND {guard}")]
});
pub(crate) static TRIED: Change = Change::update("items", "tries = ?3", "id = ?1 AND tries = ?2");
pub(crate) static SHOW_PART: Change = Change::update("items", "archived = ?2, archived_part = ?3", "id = ?1");

pub(crate) fn end<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, ending: &'tx Ending) -> Result<()> {
    match ending {
        Ending::None => Ok(()),
        Ending::Partial { scores, usage, latency_ms } => show_part(batch, attempt, scores, *usage, *latency_ms),
        Ending::HandIn { outcome: Outcome::Failed, scores, usage, failure: Some(failure), .. }
            if scores.is_empty() && *usage == Usage::default() =>
        {
            give_up(batch, attempt, failure);
            Ok(())
        }
        Ending::HandIn { outcome, scores, usage, latency_ms, failure } => {
            let error = failure.as_ref().map(|failure| (failure.class, failure.message.as_str()));
            let (outcome, usage, latency_ms) = (*outcome, *usage, *latency_ms);
            hand_in(batch, attempt, &HandedIn { outcome, scores, usage, latency_ms, error })
        }
        Ending::Retry { failure, .. } if attempt.id.no() >= MAX_TRIES => {
            give_up(batch, attempt, failure);
            Ok(())
        }
        Ending::Retry { failure, not_before } => release(batch, attempt, failure, *not_before),
        Ending::Release => give_back(batch, attempt),
    }
}

/// Endings of a batch, sent as sets when it is flushed. Until then `Batch::known` has their attempts as they will be.
#[derive(Default)]
pub(crate) struct Gathered<'a> {
    released: Vec<[Cell<'a>; 6]>,
    lost: Vec<[Cell<'a>; 6]>,
    given_up: Vec<(AttemptHead, ErrorClass, String)>,
    given_back: Vec<[Cell<'a>; 3]>,
    next: Vec<(AttemptHead, Tries, Time)>,
    warnings: Vec<NewLog>,
    freed: Vec<String>,
}

impl Gathered<'_> {
    pub fn send(&mut self, tx: &Connection, now: Time) -> Result<()> {
        let Self { released, lost, given_up, given_back, next, warnings, freed } = std::mem::take(self);
        expect_rows(tx.execute_many(&RELEASE, &released)?, released.len(), "released attempts")?;
        expect_rows(tx.execute_many(&LOSE, &lost)?, lost.len(), "lost attempts")?;
        hand_in_shown(tx, &given_up, now)?;
        expect_rows(tx.execute_many(&GIVE_BACK, &given_back)?, given_back.len(), "attempts given back")?;
        let queued: Vec<[Cell; 9]> =
            next.iter().map(|(last, tries, due_at)| last.next(*tries, *due_at).row()).collect();
        let tried =
            |last: &AttemptHead| [last.id.item().0, last.id.no().into(), (last.id.no() + 1).into()].map(Cell::Int);
        let tried: Vec<[Cell; 3]> = next.iter().map(|(last, ..)| tried(last)).collect();
        expect_rows(tx.execute_many(&attempts::QUEUE, &queued)?, queued.len(), "next tries")?;
        expect_rows(tx.execute_many(&TRIED, &tried)?, tried.len(), "tries of items")?;
        journal::log_all(tx, &warnings, now)?;
        unblock::free(tx, &freed)
    }
}

/// What an attempt is logged with until it is archived.
struct HandedIn<'a> {
    outcome: Outcome,
    scores: &'a [Score],
    usage: Usage,
    latency_ms: i64,
    error: Option<(ErrorClass, &'a str)>,
}

fn hand_in<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, result: &HandedIn<'tx>) -> Result<()> {
    let row = logged_row(batch.now, attempt, result);
    batch.deferred.handed_in.push(row);
    batch.ended(attempt, AttemptEvent::HandIn, Some(result.outcome));
    scores::keep(batch, attempt.id, Part::Whole, result.scores);
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
    give_up(batch, attempt, &Failure::new(ErrorClass::Lost, format!("its worker disappeared {losses} times")));
    Ok(())
}

/// It failed and says nothing of what it finished: what the run has shown of the item stands.
fn give_up(batch: &mut Batch, attempt: &AttemptHead, failure: &Failure) {
    batch.endings.given_up.push((attempt.clone(), failure.class, failure.message.clone()));
    batch.ended(attempt, AttemptEvent::HandIn, Some(Outcome::Failed));
    clean_up_after(batch, attempt);
}

fn hand_in_shown(tx: &Connection, given_up: &[(AttemptHead, ErrorClass, String)], now: Time) -> Result<()> {
    let shown = scores::shown(tx, given_up.iter().map(|(last, ..)| last))?;
    let failed = given_up.iter().zip(&shown).map(|((last, class, why), shown)| {
        let (usage, latency_ms, error) = (shown.usage, shown.latency_ms, Some((*class, why.as_str())));
        logged_row(now, last, &HandedIn { outcome: Outcome::Failed, scores: &[], usage, latency_ms, error })
    });
    let rows: Vec<[Cell; 10]> = failed.collect();
    expect_rows(tx.execute_many(&ABANDON, &rows)?, rows.len(), "attempts given up")?;
    let kept = given_up
        .iter()
        .zip(&shown)
        .flat_map(|((last, ..), shown)| shown.scores.iter().map(|score| scores::row(last.id, Part::Whole, score)));
    let kept: Vec<[Cell; 8]> = kept.collect();
    expect_rows(tx.execute_many(&scores::KEEP, &kept)?, kept.len(), "scores")
}

fn logged_row<'a>(now: Time, attempt: &AttemptHead, result: &HandedIn<'a>) -> [Cell<'a>; 10] {
    [
        Cell::Int(attempt.id.0),
        Cell::Int(attempt.fence),
        Cell::Int(code(result.outcome)),
        Cell::Int(now.0),
        result.error.map_or(Cell::Null, |(class, _)| Cell::Int(code(class))),
        result.error.map_or(Cell::Null, |(_, message)| Cell::Text(message)),
        Cell::Int(result.latency_ms),
        Cell::Int(result.usage.tokens_in),
        Cell::Int(result.usage.tokens_out),
        Cell::Int(result.usage.cost_nanos),
    ]
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
    batch.flush()?;
    let keeps_columns = batch.mode_of(attempt.run)?.keeps_columns();
    let earlier = if keeps_columns { scores::of_items(tx, &[attempt.id.item()])?.remove(0) } else { Vec::new() };
    let Usage { tokens_in, tokens_out, cost_nanos } = usage;
    let shown = params![attempt.id.0, attempt.fence, latency_ms, tokens_in, tokens_out, cost_nanos];
    let changed = tx.prepare_cached(&PARTIAL)?.execute(shown)?;
    expect_rows(changed, 1, "partial attempt")?;
    let changed =
        tx.prepare_cached(&SHOW_PART)?.execute(params![attempt.id.item().0, attempt.id.0, Part::Partial as i64])?;
    expect_rows(changed, 1, "snapshot of an item")?;
    if !keeps_columns {
        scores::forget(tx, attempt.id, Part::Partial)?;
        batch.show(attempt.run, PartialItem { id: attempt.id.item(), scores: ScoreNote::all(scores) })?;
        scores::keep(batch, attempt.id, Part::Partial, scores);
        return Ok(());
    }
    let shown = shown_while_running(earlier, scores);
    scores::forget(tx, attempt.id, Part::Partial)?;
    let rows: Vec<[Cell; 8]> = shown.iter().map(|score| scores::row(attempt.id, Part::Partial, score)).collect();
    expect_rows(tx.execute_many(&scores::KEEP, &rows)?, rows.len(), "scores")?;
    batch.show(attempt.run, PartialItem { id: attempt.id.item(), scores: ScoreNote::all(&shown) })
}

fn release<'tx>(batch: &mut Batch<'tx>, attempt: &AttemptHead, failure: &'tx Failure, not_before: Time) -> Result<()> {
    let row = over_row(batch.now, attempt, Outcome::Retried, (failure.class, &failure.message));
    batch.endings.released.push(row);
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

fn over_row<'a>(now: Time, attempt: &AttemptHead, outcome: Outcome, error: (ErrorClass, &'a str)) -> [Cell<'a>; 6] {
    let [id, fence, outcome, now] = [attempt.id.0, attempt.fence, code(outcome), now.0].map(Cell::Int);
    [id, fence, outcome, now, Cell::Int(code(error.0)), Cell::Text(error.1)]
}

fn try_again(batch: &mut Batch, last: &AttemptHead, tries: Tries, due_at: Time) -> Result<()> {
    batch.endings.next.push((last.clone(), tries, due_at));
    let moved = batch.moved(last.run)?;
    moved.running -= 1;
    moved.queued += 1;
    moved.retries += 1;
    clean_up_after(batch, last);
    Ok(())
}

fn give_back(batch: &mut Batch, attempt: &AttemptHead) -> Result<()> {
    batch.endings.given_back.push([attempt.id.0, attempt.fence, batch.now.0].map(Cell::Int));
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
