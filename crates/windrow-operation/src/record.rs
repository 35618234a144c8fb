//! What became of one target, read from what is stored about it: the lines of an operation's report.

use serde_json::Value;
use windrow_model::record::{ItemDetail, Run};
use windrow_model::state::{Mode, Outcome};
use windrow_model::view::ItemView;
use windrow_model::view::batch::BatchStatus;

use super::image::differences;
use super::round::rounds;
use super::target::Target;

#[derive(Debug, Clone, PartialEq)]
pub struct TargetRecord {
    pub item: i64,
    pub target: String,
    pub wave: i64,
    pub status: BatchStatus,
    /// As it was before it was first changed, and as it is now as far as this operation knows.
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub changes: Vec<String>,
    /// It was read back and looked as it should.
    pub verified: bool,
    pub error: Option<String>,
    pub tries: u32,
    pub duration_ms: Option<i64>,
}

impl TargetRecord {
    /// `run` is the one that made the item what it is.
    pub fn of(detail: &ItemDetail, run: &Run) -> Self {
        let item = &detail.item;
        let target = detail.input.parse::<Target>().map_or_else(|_| item.id.to_string(), |target| target.name);
        let round = rounds(&detail.steps).pop();
        let restored = round.as_ref().is_some_and(|round| round.restored.is_some());
        let reached = round.as_ref().and_then(|round| round.reached.as_ref()).map(|(image, _)| image.clone());
        let before = round.as_ref().map(|round| round.before.clone());
        let after = if restored { before.clone() } else { reached.clone() };
        let changes = match (&before, &reached) {
            (Some(before), Some(reached)) => differences(before, reached),
            _ => Vec::new(),
        };
        let last = detail.attempts.last();
        let succeeded = last.is_some_and(|last| matches!(last.outcome, Some(Outcome::Succeeded | Outcome::Skipped)));
        let verified = succeeded && (if run.mode == Mode::Rollback { restored } else { reached.is_some() });
        Self {
            item: item.id.0,
            target,
            wave: item.wave,
            status: BatchStatus::of_task(&ItemView::of(item, run)),
            before,
            after,
            changes,
            verified,
            error: item.error.as_ref().map(|(class, message)| format!("{class}: {message}")),
            tries: item.tries,
            duration_ms: last.and_then(|last| Some(last.ended_at? - last.started_at?)),
        }
    }
}
