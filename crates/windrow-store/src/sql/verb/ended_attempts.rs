//! Attempts of a batch that ended, written as sets.

use windrow_model::state::{ATTEMPT, AttemptEvent, Outcome};
use windrow_model::step::{Score, Usage};
use windrow_model::store::NewLog;
use windrow_model::{ErrorClass, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Change, Connection, Dialect};
use crate::sql::codes::{code, goal_code, keyed_guard};
use crate::sql::table::attempts::{self, AttemptHead, Tries};
use crate::sql::table::journal;
use crate::sql::table::scores::{self, Part};
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
pub(crate) static RETRY: Change = Change::written("attempts", |d| ended(d, AttemptEvent::Retry, OVER));
pub(crate) static LOSE: Change = Change::written("attempts", |d| ended(d, AttemptEvent::Lose, OVER));
pub(crate) static RELEASE: Change =
    Change::written("attempts", |d| ended(d, AttemptEvent::Release, "owner = NULL, due_at = ?3"));
pub(crate) static TRIED: Change = Change::update("items", "tries = ?3", "id = ?1 AND tries = ?2");

/// Endings of a batch, sent as sets when it is flushed. Until then `Batch::known` has their attempts as they will be.
#[derive(Default)]
pub(crate) struct Gathered<'a> {
    pub retried: Vec<[Cell<'a>; 6]>,
    pub lost: Vec<[Cell<'a>; 6]>,
    pub failed_attempts: Vec<(AttemptHead, ErrorClass, String)>,
    pub released: Vec<[Cell<'a>; 3]>,
    pub next: Vec<(AttemptHead, Tries, Time)>,
    pub warnings: Vec<NewLog>,
    pub freed: Vec<String>,
}

impl Gathered<'_> {
    pub fn send(&mut self, tx: &Connection, now: Time) -> Result<()> {
        let Self { retried, lost, failed_attempts, released, next, warnings, freed } = std::mem::take(self);
        expect_rows(tx.execute_many(&RETRY, &retried)?, retried.len(), "retried attempts")?;
        expect_rows(tx.execute_many(&LOSE, &lost)?, lost.len(), "lost attempts")?;
        hand_in_shown(tx, &failed_attempts, now)?;
        expect_rows(tx.execute_many(&RELEASE, &released)?, released.len(), "released attempts")?;
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
pub(crate) struct HandedIn<'a> {
    pub outcome: Outcome,
    pub scores: &'a [Score],
    pub usage: Usage,
    pub latency_ms: i64,
    pub error: Option<(ErrorClass, &'a str)>,
}

fn hand_in_shown(tx: &Connection, failed_attempts: &[(AttemptHead, ErrorClass, String)], now: Time) -> Result<()> {
    let shown = scores::shown(tx, failed_attempts.iter().map(|(last, ..)| last))?;
    let failed = failed_attempts.iter().zip(&shown).map(|((last, class, why), shown)| {
        let (usage, latency_ms, error) = (shown.usage, shown.latency_ms, Some((*class, why.as_str())));
        logged_row(now, last, &HandedIn { outcome: Outcome::Failed, scores: &[], usage, latency_ms, error })
    });
    let rows: Vec<[Cell; 10]> = failed.collect();
    expect_rows(tx.execute_many(&ABANDON, &rows)?, rows.len(), "attempts given up")?;
    let kept = failed_attempts
        .iter()
        .zip(&shown)
        .flat_map(|((last, ..), shown)| shown.scores.iter().map(|score| scores::row(last.id, Part::Whole, score)));
    let kept: Vec<[Cell; 8]> = kept.collect();
    expect_rows(tx.execute_many(&scores::KEEP, &kept)?, kept.len(), "scores")
}

pub(crate) fn logged_row<'a>(now: Time, attempt: &AttemptHead, result: &HandedIn<'a>) -> [Cell<'a>; 10] {
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

pub(crate) fn over_row<'a>(
    now: Time,
    attempt: &AttemptHead,
    outcome: Outcome,
    error: (ErrorClass, &'a str),
) -> [Cell<'a>; 6] {
    let [id, fence, outcome, now] = [attempt.id.0, attempt.fence, code(outcome), now.0].map(Cell::Int);
    [id, fence, outcome, now, Cell::Int(code(error.0)), Cell::Text(error.1)]
}
