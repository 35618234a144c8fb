//! Two runs row by row. The findings of both are sorted by evaluator and row (on disk where they are
//! many), so that what is kept in memory is one row and the sums.

use std::ops::ControlFlow;

use windrow_model::ItemId;
use windrow_model::compare::{Comparison, Finding, Pairing, Side};
use windrow_model::step::Verdict;
use windrow_model::store::RunPart;

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::read::results::handed_in;
use crate::sql::table::runs;
use crate::sql::table::scores::{Part, own_column};

pub(crate) static BOTH: Sql = Sql::new(|d| {
    let side = |side: Side, job: &str, run: &str, variant: &str| {
        format!(
            "SELECT s.name AS name, coalesce(i.group_key, i.key) AS row_key, {} AS side, i.id AS item, s.turn AS turn, \
             i.ordinal, s.verdict, s.value FROM {} {} \
             WHERE i.job_id = {job} AND s.verdict IN ({}, {}) AND {} AND (i.variant = {variant} OR {variant} IS NULL)",
            side as i64,
            handed_in(d, run),
            d.each("scores", "s", &format!("s.attempt_id = a.id AND s.part = {}", Part::Whole as i64)),
            code(Verdict::Pass),
            code(Verdict::Fail),
            own_column(d),
        )
    };
    format!(
        "{} UNION ALL {} ORDER BY name, row_key, side, item, turn",
        side(Side::Before, "?1", "?2", "?5"),
        side(Side::After, "?3", "?4", "?6")
    )
});

pub(crate) fn compare(conn: &Connection, before: &RunPart, after: &RunPart, limit: usize) -> Result<Comparison> {
    let (own, other) = (before.variant.clone(), after.variant.clone());
    let (before, after) = (runs::run(conn, before.run)?, runs::run(conn, after.run)?);
    let mut pairing = Pairing::new(limit);
    let mut stmt = conn.prepare_cached(&BOTH)?;
    let asked = params![before.job.0, before.id.0, after.job.0, after.id.0, own, other];
    stmt.walk(asked, |row| {
        let mut c = Cells::of(row);
        let (evaluator, row_key) = (c.text()?, c.key()?);
        let side = if c.get::<i64>()? == Side::Before as i64 { Side::Before } else { Side::After };
        let (item, _turn) = (ItemId(c.get()?), c.get::<i64>()?);
        let (ordinal, verdict, value) = (c.get()?, c.coded()?, c.get()?);
        pairing.add(Finding { evaluator, row: row_key, side, item, ordinal, verdict, value });
        Ok::<_, backend::Error>(ControlFlow::Continue(()))
    })?;
    Ok(pairing.finish())
}
