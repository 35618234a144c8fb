//! Steps that serve other items and jobs of their workspace: one pointer per key to the newest that was done.

use std::collections::BTreeMap;

use windrow_model::record::Step;
use windrow_model::state::StepState;
use windrow_model::step::ContentKey;
use windrow_model::{RunId, StepId};

use crate::backend::failure::Result;
use crate::backend::{Cell, Connection, Lookup, NewRows, OptionalExtension, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::code;
use crate::sql::table::steps;

pub(crate) static FIND: Sql = Sql::new(|d| {
    format!(
        "SELECT {} FROM runs r {} {} WHERE r.id = ?1 AND s.state = {}",
        steps::COLUMNS,
        d.each("shared_steps", "k", "k.workspace = r.workspace AND k.key = ?2"),
        d.each_by_key("steps", "s", "s.id = k.step_id"),
        code(StepState::Done)
    )
});

pub(crate) static KEY_OF: Lookup = Lookup::written(|d| {
    let tables = format!("runs r {}", d.each_by_key("steps", "s", "s.id = ?2"));
    ["r.workspace, s.key".into(), tables, "r.id = ?1".into(), String::new()]
});
pub(crate) static SHARE: NewRows =
    NewRows::new("shared_steps", "workspace, key, step_id", "?1, ?2, ?3").or_replace("workspace, key", &["step_id"]);

pub(crate) fn shared_step(conn: &Connection, run: RunId, key: ContentKey) -> Result<Option<Step>> {
    Ok(conn.prepare_cached(&FIND)?.query_row(params![run.0, key.0], steps::from_row).optional()?)
}

/// From now on these steps are found by their keys. Of two with the same key, the last one.
pub(crate) fn share(tx: &Connection, steps: &[(RunId, StepId)]) -> Result<()> {
    let asked: Vec<[Cell; 2]> = steps.iter().map(|(run, id)| [run.0, id.0].map(Cell::Int)).collect();
    let mut last: BTreeMap<(String, ContentKey), usize> = BTreeMap::new();
    tx.query_many(&KEY_OF, &asked, |n, row| {
        let mut c = Cells::of(row);
        let known = last.entry((c.get()?, c.key()?)).or_insert(n);
        *known = n.max(*known);
        Ok(())
    })?;
    let rows =
        last.iter().map(|((workspace, key), n)| [Cell::Text(workspace), Cell::Blob(&key.0), Cell::Int(steps[*n].1.0)]);
    tx.execute_many(&SHARE, &rows.collect::<Vec<_>>())?;
    Ok(())
}
