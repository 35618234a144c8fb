//! Steps that serve other items and jobs: one pointer per key to the newest that was done.

use rusqlite::{Connection, OptionalExtension};
use windrow_model::StepId;
use windrow_model::record::Step;
use windrow_model::state::StepState;
use windrow_model::step::ContentKey;

use super::codes::{Sql, code};
use super::fault::Result;
use super::steps;

pub(super) static FIND: Sql = Sql::new(|| {
    format!(
        "SELECT {} FROM shared_steps k CROSS JOIN steps s ON s.id = k.step_id WHERE k.key = ?1 AND s.state = {}",
        steps::COLUMNS,
        code(StepState::Done)
    )
});

pub(super) fn shared_step(conn: &Connection, key: ContentKey) -> Result<Option<Step>> {
    Ok(conn.prepare_cached(&FIND)?.query_row([key.0], steps::from_row).optional()?)
}

/// From now on this step serves whoever asks for its key.
pub(super) fn share(tx: &Connection, id: StepId) -> Result<()> {
    tx.prepare_cached("INSERT OR REPLACE INTO shared_steps (key, step_id) SELECT key, id FROM steps WHERE id = ?1")?
        .execute([id.0])?;
    Ok(())
}
