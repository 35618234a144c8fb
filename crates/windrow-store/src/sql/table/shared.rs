//! Steps that serve other items and jobs of their workspace: one pointer per key to the newest that was done.

use windrow_model::record::Step;
use windrow_model::state::StepState;
use windrow_model::step::ContentKey;
use windrow_model::{RunId, StepId};

use crate::backend::Sql;
use crate::backend::failure::Result;
use crate::backend::{Connection, OptionalExtension, params};
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

pub(crate) static SHARE: Sql = Sql::new(|d| {
    format!(
        "INSERT INTO shared_steps (workspace, key, step_id) \
         SELECT r.workspace, s.key, s.id FROM runs r JOIN steps s ON s.id = ?2 WHERE r.id = ?1{}",
        d.or_replace("workspace, key", &["step_id"])
    )
});

pub(crate) fn shared_step(conn: &Connection, run: RunId, key: ContentKey) -> Result<Option<Step>> {
    Ok(conn.prepare_cached(&FIND)?.query_row(params![run.0, key.0], steps::from_row).optional()?)
}

/// From now on this step serves whoever asks for its key.
pub(crate) fn share(tx: &Connection, run: RunId, id: StepId) -> Result<()> {
    tx.prepare_cached(&SHARE)?.execute([run.0, id.0])?;
    Ok(())
}
