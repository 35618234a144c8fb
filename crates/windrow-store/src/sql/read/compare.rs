//! Two runs row by row. The findings of both are sorted by evaluator and row (on disk where they are
//! many), so that what is kept in memory is one row and the sums.

use std::ops::ControlFlow;

use windrow_model::ItemId;
use windrow_model::compare::{Comparison, Finding, Pairing, Side};
use windrow_model::step::Verdict;
use windrow_model::store::RunPart;

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Dialect, Sql, ToCell};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::read::results::handed_in;
use crate::sql::table::runs;
use crate::sql::table::scores::{Part, own_column};

pub(crate) static RUNS: Sql = Sql::new(|d| both(d, [false, false]));
pub(crate) static RUN_AND_JOB: Sql = Sql::new(|d| both(d, [false, true]));
pub(crate) static JOB_AND_RUN: Sql = Sql::new(|d| both(d, [true, false]));
pub(crate) static JOBS: Sql = Sql::new(|d| both(d, [true, true]));

/// For each side: the job, the run unless the side is the whole job, and the variant.
fn both(d: Dialect, whole: [bool; 2]) -> String {
    let mut bound = 0;
    let mut next = || {
        bound += 1;
        format!("?{bound}")
    };
    let sides = [Side::Before, Side::After].map(|side| {
        let (job, whole) = (next(), whole[side as usize]);
        let (items, part) = match whole {
            true => {
                (format!("items i {}", d.each_by_key("attempts", "a", "a.id = i.archived")), "i.archived_part".into())
            }
            false => (handed_in(d, &next()), (Part::Whole as i64).to_string()),
        };
        let variant = next();
        format!(
            "SELECT s.name AS name, coalesce(i.group_key, i.key) AS row_key, {} AS side, i.id AS item, s.turn AS turn, \
             i.ordinal, s.verdict, s.value, coalesce(i.variant, '') AS variant FROM {items} {} \
             WHERE i.job_id = {job} AND s.verdict IN ({}, {}) AND {} AND (i.variant = {variant} OR {variant} IS NULL)",
            side as i64,
            d.each("scores", "s", &format!("s.attempt_id = a.id AND s.part = {part}")),
            code(Verdict::Pass),
            code(Verdict::Fail),
            own_column(d),
        )
    });
    format!("{} ORDER BY name, row_key, side, item, turn", sides.join(" UNION ALL "))
}

pub(crate) fn compare(conn: &Connection, before: &RunPart, after: &RunPart, limit: usize) -> Result<Comparison> {
    let runs = [runs::run(conn, before.run)?, runs::run(conn, after.run)?];
    let mut pairing = Pairing::new(limit);
    let mut stmt = conn.prepare_cached(match (before.whole, after.whole) {
        (false, false) => &RUNS,
        (false, true) => &RUN_AND_JOB,
        (true, false) => &JOB_AND_RUN,
        (true, true) => &JOBS,
    })?;
    let mut asked: Vec<&dyn ToCell> = Vec::new();
    for (run, part) in runs.iter().zip([before, after]) {
        asked.push(&run.job.0);
        if !part.whole {
            asked.push(&run.id.0);
        }
        asked.push(&part.variant);
    }
    let asked = asked.as_slice();
    stmt.walk(asked, |row| {
        let mut c = Cells::of(row);
        let (evaluator, row_key) = (c.text()?, c.key()?);
        let side = if c.get::<i64>()? == Side::Before as i64 { Side::Before } else { Side::After };
        let (item, _turn) = (ItemId(c.get()?), c.get::<i64>()?);
        let (ordinal, verdict, value) = (c.get()?, c.coded()?, c.get()?);
        let variant = Some(c.text()?).filter(|name| !name.is_empty());
        pairing.add(Finding { evaluator, row: row_key, side, item, variant, ordinal, verdict, value });
        Ok::<_, backend::Error>(ControlFlow::Continue(()))
    })?;
    Ok(pairing.finish())
}
