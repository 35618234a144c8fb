//! The statements of the hot path, and tables that have grown old: what is over is many times what is live. The
//! databases are asked for their plans of these (`postgres/plans.rs`, `mysql/plans.rs`).

use windrow_model::store::OVERDUE_MS;
use windrow_model::{AttemptId, ItemId, StepId};

use crate::backend::{Cell, Connection, Dialect, ForRows, NewRows, Result, Text, Value};
use crate::sql::admin::clean_up;
use crate::sql::read::aggregates;
use crate::sql::table::{attempts, runs, scores, steps};
use crate::sql::verb::{archive, cancel, claim, ended_attempts, gathered, item_ids, reap, renew, sessions, unblock};

const RUNS_OVER: i64 = 600;
const ITEMS_OVER: i64 = 20;
const LIVE_RUNS: i64 = 4;
const ITEMS_LIVE: i64 = 120;
/// A run that lives.
pub(crate) const LIVE: i64 = RUNS_OVER + 2;
const SESSION: i64 = 7;
const NOW: i64 = 1_000_000;

/// No plan of a hot statement may expect to look at more rows than this: one run has fewer that are live.
pub(crate) const FEW: i64 = 600;

pub(crate) struct Hot {
    pub name: &'static str,
    pub sql: String,
    /// The statement itself, if it is about a set of rows.
    pub set: Option<&'static dyn ForRows>,
    /// What is bound, in the order of its numbers.
    pub values: Vec<Value>,
    /// One of the indexes it uses; `PRIMARY` is the key of the table.
    pub index: &'static str,
    /// Whether a few rows may be sorted for it.
    pub may_sort: bool,
}

fn hot(d: Dialect, name: &'static str, sql: &'static dyn Text, values: &[i64], index: &'static str) -> Hot {
    let values = values.iter().copied().map(Value::Integer).collect();
    Hot { name, sql: sql.on(d).into_owned(), set: sql.as_set(), values, index, may_sort: false }
}

/// Statements about one row or a page.
pub(crate) fn statements(d: Dialect) -> Vec<Hot> {
    let hot = |name, sql, values: &[i64], index| hot(d, name, sql, values, index);
    let run = LIVE;
    let attempt = AttemptId::new(ItemId(RUNS_OVER * ITEMS_OVER + 5), 1);
    let on_resource = |hot: Hot| {
        let resource = [Value::Text("printer".into())].into_iter();
        Hot { values: resource.chain(hot.values).collect(), ..hot }
    };
    vec![
        hot("run", &runs::BY_ID, &[run], "PRIMARY"),
        hot("count running", &claim::COUNT_RUNNING, &[run, NOW - OVERDUE_MS], "attempts_"),
        hot("next priority", &claim::NEXT_LEVEL, &[run, 0, 0], "attempts_queued"),
        hot("claim", &claim::READY, &[run, 0, 5, NOW, i64::MIN, i64::MIN, 50], "attempts_queued"),
        on_resource(hot("holder", &claim::HOLDER, &[], "attempts_")),
        on_resource(hot("first blocked", &unblock::FIRST_BLOCKED, &[i64::MIN], "attempts_blocked")),
        hot("renew", &renew::EXTEND, &[attempt.0, run, 1, NOW], "PRIMARY"),
        hot("archive", &archive::LOGGED, &[run, i64::MIN, 50], "attempts_logged"),
        Hot { may_sort: true, ..hot("reap", &reap::EXPIRED, &[i64::MIN, NOW, 50], "attempts_running") },
        Hot { may_sort: true, ..hot("beat", &sessions::HELD_RUNS, &[SESSION], "runs_") },
        hot("expire_session", &sessions::LEASED, &[SESSION, NOW], "attempts_running"),
        hot("cancel", &cancel::QUEUED, &[run, 50], "attempts_queued"),
        hot("failed", &aggregates::FAILED, &[run, 0], "attempts_errors"),
        hot("newest item", &item_ids::NEWEST, &[run, 0], "items_by_job"),
    ]
}

/// Changes that are made to many rows at once.
pub(crate) fn changes(d: Dialect) -> Vec<Hot> {
    let hot = |name, sql, values: &[i64], index| hot(d, name, sql, values, index);
    let id = AttemptId::new(ItemId(RUNS_OVER * ITEMS_OVER + 5), 1);
    let mut changes = vec![
        hot("take", &claim::TAKE, &[id.0, 0, 1, SESSION, NOW, NOW], "PRIMARY"),
        hot("hand in", &ended_attempts::HAND_IN, &[id.0, 1, 0, NOW, 0, 0, 0, 0, 0, 0], "PRIMARY"),
        hot("result", &archive::RESULT, &[id.0], "PRIMARY"),
        hot("finish a step", &steps::FINISH, &[StepId::new(id, 1).0, 0, 0, 0, 0, NOW], "PRIMARY"),
        hot("expire", &sessions::EXPIRE, &[id.0, SESSION, NOW], "PRIMARY"),
    ];
    changes.extend(archive::SETTLE.iter().map(|change| hot("settle", change, &[id.item().0; 9], "PRIMARY")));
    changes
}

/// Deletions of an item's rows by their keys.
pub(crate) fn deletions(d: Dialect) -> Vec<Hot> {
    let hot = |name, sql, values: [i64; 2]| hot(d, name, sql, &values, "PRIMARY");
    let item = ItemId(RUNS_OVER * ITEMS_OVER + 5);
    let (first, last) = item.attempts();
    vec![
        hot("delete items", &clean_up::ITEM_ROWS, [item.0; 2]),
        hot("delete inputs", &clean_up::INPUTS, [item.0; 2]),
        hot("delete attempts", &clean_up::ATTEMPTS, [first.0, last.0]),
        hot("delete scores", &clean_up::SCORES, [first.0, last.0]),
        hot("delete steps", &clean_up::STEPS, [first.first_step().0, last.last_step().0]),
    ]
}

/// Questions that are asked about many rows at once.
pub(crate) fn questions(d: Dialect) -> Vec<Hot> {
    let hot = |name, sql, values: &[i64], index| hot(d, name, sql, values, index);
    let id = AttemptId::new(ItemId(RUNS_OVER * ITEMS_OVER + 5), 1);
    vec![
        hot("attempt", &attempts::READ, &[id.0], "PRIMARY"),
        hot("item and input", &claim::ITEM_AND_INPUT, &[id.item().0], "PRIMARY"),
        hot("scores", &scores::NOTES, &[id.0], "PRIMARY"),
    ]
}

/// Many runs that are over and a few that live.
pub(crate) fn fill(tx: &Connection) -> Result<()> {
    let (mut runs, mut items, mut inputs, mut tries) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut scores = Vec::new();
    let mut next_item = 0;
    for run in 1..=RUNS_OVER + LIVE_RUNS {
        let over = run <= RUNS_OVER;
        let text = Cell::Text("x");
        let (ended_at, owner) = if over { (Cell::Int(NOW), Cell::Null) } else { (Cell::Null, Cell::Int(SESSION)) };
        runs.push([Cell::Int(run), text, Cell::Int(run), ended_at, owner]);
        for n in 0..if over { ITEMS_OVER } else { ITEMS_LIVE } {
            let id = ItemId(next_item);
            next_item += 1;
            // Queued, blocked, running and logged ones of those that live.
            let state = if over { 4 } else { n % 4 };
            let resource = if state == 1 { Cell::Text("printer") } else { Cell::Null };
            items.push([id.0, run, run, n].map(Cell::Int));
            inputs.push([Cell::Int(id.0), Cell::Text("{}")]);
            let [attempt, run, state] = [AttemptId::new(id, 1).0, run, state].map(Cell::Int);
            let [priority, wave, due_at] = [1 + n % 9, n % 3, NOW - n].map(Cell::Int);
            tries.push([attempt, run, state, priority, wave, due_at, owner, resource]);
            scores.push([attempt, text]);
        }
    }
    let new = NewRows::new(
        "runs",
        "id, job_id, workspace, no, mode, state, spec_hash, priority, rank, region, concurrency, max_losses, fresh, planned, \
         created_at, ended_at, coordinator",
        "?1, ?1, ?2, 1, ?2, ?2, ?2, 5, ?3, ?2, 50, 3, 0, 1, 0, ?4, ?5",
    );
    tx.execute_many(&new, &runs)?;
    let keys: Vec<[u8; 16]> = (0..next_item).map(|id| u128::from(id as u64).to_le_bytes()).collect();
    let items: Vec<[Cell; 5]> =
        items.iter().zip(&keys).map(|([id, job, run, n], key)| [*id, *job, *run, *n, Cell::Blob(key)]).collect();
    let new = NewRows::new("items", "id, job_id, run_id, ordinal, key, state, tries", "?1, ?2, ?3, ?4, ?5, 0, 1");
    tx.execute_many(&new, &items)?;
    tx.execute_many(&gathered::KEEP_INPUT, &inputs)?;
    let columns = "id, run_id, state, priority, wave, due_at, owner, resource";
    tx.execute_many(&NewRows::new("attempts", columns, "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8"), &tries)?;
    let columns = "attempt_id, part, turn, name, verdict, reason";
    tx.execute_many(&NewRows::new("scores", columns, "?1, 0, 0, ?2, 0, ?2"), &scores)?;
    Ok(())
}
