//! How long the steps of a run took (I11). Steps are found by the attempts of the run.

use windrow_model::aggregate::{Percentiles, StepLatency};
use windrow_model::state::StepState;
use windrow_model::{AttemptId, RunId, StepId};

use crate::backend::failure::Result;
use crate::backend::{Connection, Dialect, Sql, params};
use crate::sql::codes::in_states;

pub(crate) static COUNT: Sql = Sql::new(|d| format!("SELECT count(*) {}", of_run(d)));
pub(crate) static RANKED: Sql = Sql::new(|d| {
    format!("SELECT s.ended_at - s.started_at {} ORDER BY s.ended_at - s.started_at LIMIT 1 OFFSET ?3", of_run(d))
});

fn of_run(d: Dialect) -> String {
    let (first, last) = (StepId::new(AttemptId(1), 0).0, AttemptId(0).last_step().0);
    let steps = d.each_by_key("steps", "s", &format!("s.id BETWEEN a.id * {first} AND a.id * {first} + {last}"));
    let done = in_states(&[StepState::Done]);
    format!("FROM attempts a {steps} WHERE a.run_id = ?1 AND s.{done} AND s.kind = ?2")
}

pub(crate) fn step_latency(conn: &Connection, run: RunId, kind: &str) -> Result<Option<StepLatency>> {
    let n: i64 = conn.prepare_cached(&COUNT)?.query_row(params![run.0, kind], |row| row.get(0))?;
    if n == 0 {
        return Ok(None);
    }
    let rank = Percentiles::rank(n, 95);
    let p95_ms = conn.prepare_cached(&RANKED)?.query_row(params![run.0, kind, rank], |row| row.get(0))?;
    Ok(Some(StepLatency { n, p95_ms }))
}
