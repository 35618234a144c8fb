//! Admit: a coordinator adopts runs that have no coordinator, by rank. Stopping runs need no slot: nothing is dispatched,
//! only cleaned up.

use std::collections::BTreeMap;

use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{RUN, RunEvent, RunState};
use windrow_model::store::{Admission, Held, Quota};
use windrow_model::{RunId, SessionId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Connection, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::lock;
use crate::sql::table::journal::{self, Note};
use crate::sql::table::runs;
use crate::sql::verb::sessions;

/// Not over, not paused, and without a coordinator whose lease still runs at `?1`.
pub(crate) fn awaiting() -> String {
    let paused = RunState::Paused;
    format!("ended_at IS NULL AND state <> '{paused}' AND (coordinator IS NULL OR coordinator_until <= ?1)")
}

/// As [`awaiting`], of one that was waited for.
fn awaits(run: &Run, now: Time) -> bool {
    let free = run.coordinator.is_none() || run.coordinator_until <= now;
    !run.state.is_final() && run.state != RunState::Paused && free
}

pub(crate) static WAITING: Sql =
    Sql::new(|_| format!("SELECT id, state, region, workspace FROM runs WHERE {} ORDER BY rank, id", awaiting()));

struct Waiting {
    run: RunId,
    state: RunState,
    region: String,
    workspace: String,
}

/// Active runs of each workspace: those with a live coordinator.
pub(crate) static AT_WORK: Sql = Sql::new(|_| {
    let stopping = RunState::ALL.iter().filter(|state| state.is_stopping()).map(|state| format!("'{state}'"));
    format!(
        "SELECT workspace, count(*) FROM runs WHERE ended_at IS NULL AND coordinator_until > ?1 \
         AND coordinator IS NOT NULL AND state NOT IN ({}) GROUP BY workspace",
        stopping.collect::<Vec<_>>().join(", ")
    )
});

pub(crate) fn admit(tx: &Connection, admission: &Admission, now: Time) -> Result<Vec<Held>> {
    sessions::live_session(tx, admission.session)?;
    // Nodes look often and find nothing; only one that found something keeps the others waiting.
    if waiting(tx, now)?.is_empty() {
        return Ok(Vec::new());
    }
    lock::named(tx, lock::ADMISSION)?;
    let mut places = admission.slots;
    let limited = admission.quota != Quota::default();
    let mut at_work = if limited { at_work(tx, now)? } else { BTreeMap::new() };
    let mut taken = Vec::new();
    for candidate in waiting(tx, now)? {
        if !admission.scope.includes(candidate.run, &candidate.region) {
            continue;
        }
        if !candidate.state.is_stopping() {
            let of_workspace = at_work.entry(candidate.workspace.clone()).or_default();
            let quota = admission.quota.of(&candidate.workspace);
            if places == 0 || quota.is_some_and(|quota| *of_workspace >= quota) {
                continue;
            }
            places -= 1;
            *of_workspace += 1;
        }
        let run = runs::locked(tx, candidate.run)?;
        if !awaits(&run, now) {
            continue;
        }
        take(tx, run, admission.session, now + admission.lease_ms, now)?;
        taken.push(candidate.run);
    }
    runs::held(tx, &taken)
}

pub(crate) fn at_work(tx: &Connection, now: Time) -> Result<BTreeMap<String, usize>> {
    let mut stmt = tx.prepare_cached(&AT_WORK)?;
    let found = stmt.query_map([now.0], |row| Ok((row.get(0)?, row.get::<i64>(1)? as usize)))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

fn waiting(tx: &Connection, now: Time) -> Result<Vec<Waiting>> {
    let mut stmt = tx.prepare_cached(&WAITING)?;
    let found = stmt.query_map([now.0], |row| {
        let mut c = Cells::of(row);
        Ok(Waiting { run: RunId(c.get()?), state: c.word()?, region: c.get()?, workspace: c.get()? })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

fn take(tx: &Connection, run: Run, session: SessionId, until: Time, now: Time) -> Result<()> {
    let changed = tx
        .prepare_cached(
            "UPDATE runs SET epoch = epoch + 1, coordinator = ?3, coordinator_until = ?4 \
             WHERE id = ?1 AND epoch = ?2 AND ended_at IS NULL",
        )?
        .execute(params![run.id.0, run.epoch, session.0, until.0])?;
    expect_rows(changed, 1, "epoch of a run")?;
    if run.state != RunState::Pending {
        return Ok(());
    }
    let state = RUN.next(run.state, RunEvent::Admit)?;
    let changed = tx
        .prepare_cached(
            "UPDATE runs SET state = ?3, started_at = coalesce(started_at, ?4) WHERE id = ?1 AND state = ?2",
        )?
        .execute(params![run.id.0, run.state.as_str(), state.as_str(), now.0])?;
    expect_rows(changed, 1, "state of a run")?;
    journal::emit_state(tx, &run, state, ("system", None), now)?;
    let message = format!("run {} started", run.no);
    let (job, run) = (run.job, run.id);
    journal::note(tx, Note { job, run, item: None, level: LogLevel::Info, event: "started", message }, now)
}
