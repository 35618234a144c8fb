//! Steps that serve other items and jobs of their workspace: one pointer per key to the newest that was done.

use std::collections::BTreeMap;

use windrow_model::record::Step;
use windrow_model::state::StepState;
use windrow_model::step::ContentKey;
use windrow_model::{RunId, StepId};

use crate::backend::failure::Result;
use crate::backend::{Cell, Connection, OptionalExtension, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{Sql, code};
use crate::sql::table::steps;

pub(crate) static FIND: Sql = Sql::new(|| {
    format!(
        "SELECT {} FROM runs r CROSS JOIN shared_steps k ON k.workspace = r.workspace AND k.key = ?2 \
         CROSS JOIN steps s ON s.id = k.step_id WHERE r.id = ?1 AND s.state = {}",
        steps::COLUMNS,
        code(StepState::Done)
    )
});

pub(crate) fn shared_step(conn: &Connection, run: RunId, key: ContentKey) -> Result<Option<Step>> {
    Ok(conn.prepare_cached(&FIND)?.query_row(params![run.0, key.0], steps::from_row).optional()?)
}

/// As [`share`], for many. Of two with the same key the last one serves.
pub(crate) fn share_all(tx: &Connection, steps: &[(RunId, StepId)]) -> Result<()> {
    let asked: Vec<[Cell; 2]> = steps.iter().map(|(run, id)| [run.0, id.0].map(Cell::Int)).collect();
    let mut last: BTreeMap<(String, ContentKey), usize> = BTreeMap::new();
    let sql = "SELECT r.workspace, s.key FROM runs r CROSS JOIN steps s ON s.id = ?2 WHERE r.id = ?1";
    tx.query_many(sql, &asked, |n, row| {
        let mut c = Cells::of(row);
        let known = last.entry((c.get()?, c.key()?)).or_insert(n);
        *known = n.max(*known);
        Ok(())
    })?;
    let rows =
        last.iter().map(|((workspace, key), n)| [Cell::Text(workspace), Cell::Blob(&key.0), Cell::Int(steps[*n].1.0)]);
    let sql = "INSERT INTO shared_steps (workspace, key, step_id) VALUES (?1, ?2, ?3) \
               ON CONFLICT (workspace, key) DO UPDATE SET step_id = excluded.step_id";
    tx.execute_many(sql, &rows.collect::<Vec<_>>())?;
    Ok(())
}

/// From now on this step serves whoever asks for its key.
pub(crate) fn share(tx: &Connection, run: RunId, id: StepId) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO shared_steps (workspace, key, step_id) \
         SELECT r.workspace, s.key, s.id FROM runs r JOIN steps s ON s.id = ?2 WHERE r.id = ?1 \
         ON CONFLICT (workspace, key) DO UPDATE SET step_id = excluded.step_id",
    )?
    .execute([run.0, id.0])?;
    Ok(())
}
