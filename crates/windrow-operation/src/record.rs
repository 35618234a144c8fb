//! What became of one target, read from what is stored about it: the lines of an operation's report.

use serde_json::{Map, Value};
use windrow_model::Json;
use windrow_model::operation::{TargetLabels, TargetView};
use windrow_model::record::{ItemDetail, Labels, Run};
use windrow_model::state::{ItemState, Mode, Outcome};
use windrow_model::view::ItemView;
use windrow_model::view::batch::BatchStatus;

use super::change_record::{ChangeRecord, change_records};
use super::image::differences;
use super::mask::masked;
use super::own_worker;
use super::spec::OperationSpec;
use super::target::Target;

/// `run` is the one that made the item what it is.
pub fn target_view(detail: &ItemDetail, run: &Run) -> TargetView {
    let item = &detail.item;
    let target = detail.input.parse::<Target>().map_or_else(|_| item.id.to_string(), |target| target.name);
    let records = change_records(&detail.steps);
    let change = records.last().cloned();
    let restored = change.as_ref().is_some_and(|change| change.restored.is_some());
    let reached = change.as_ref().and_then(|change| change.reached.as_ref()).map(|(image, _)| image.clone());
    let before = change.as_ref().map(|change| change.before.clone());
    let after = if restored { before.clone() } else { reached.clone() };
    let changes = match (&before, &reached) {
        (Some(before), Some(reached)) => differences(before, reached),
        _ => Vec::new(),
    };
    let last = detail.attempts.last();
    let succeeded = last.is_some_and(|last| matches!(last.outcome, Some(Outcome::Succeeded | Outcome::Skipped)));
    let verified = succeeded && (if run.mode == Mode::Rollback { restored } else { reached.is_some() });
    TargetView {
        item: item.id.0.to_string(),
        target,
        wave: item.wave + 1,
        status: status(detail, run, &records),
        changed: records.iter().any(ChangeRecord::may_have_changed),
        before: before.map(masked),
        after: after.map(masked),
        changes,
        verified,
        error: item.error.as_ref().map(|(class, message)| format!("{class}: {message}")),
        tries: item.tries,
        duration_ms: last.and_then(|last| Some(last.ended_at? - last.started_at?)),
        version: detail.attempts.iter().map(|attempt| attempt.fence).sum(),
        retries: last.map_or(0, |last| last.retries),
        labels: TargetLabels::default(),
    }
}

/// What a target carries (B10, B15): what its source says about it, otherwise what its job does.
pub fn target_labels(view: &TargetView, detail: &ItemDetail, labels: &Labels, spec: &Json) -> TargetLabels {
    let target = detail.input.parse::<Target>().unwrap_or_else(|_| Target::named(&view.target));
    let Labels { creator, service, environment, region, az, extra: _ } = labels;
    let mut info = target.fields;
    let mut own = |name: &str, otherwise: &str| match info.remove(name) {
        None | Some(Value::Null) => otherwise.to_owned(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let (kind, action) = action_of(spec);
    TargetLabels {
        target_id: own("id", &view.target),
        target_type: own("type", &kind),
        action,
        creator: creator.clone(),
        service: own("service", service),
        environment: own("environment", environment),
        region: own("region", region),
        az: own("az", az),
        info: match masked(Value::Object(info)) {
            Value::Object(info) => info,
            _ => Map::new(),
        },
    }
}

/// The type of the targets, and what is done to them.
fn action_of(spec: &Json) -> (String, String) {
    let Ok(spec) = spec.parse::<OperationSpec>() else { return Default::default() };
    let said = |name: &str, otherwise: &str| spec.action.config[name].as_str().unwrap_or(otherwise).to_owned();
    match spec.action.kind.as_str() {
        own_worker::KIND => (said("type", own_worker::KIND), said("do", "apply")),
        kind => (kind.to_owned(), said("do", "apply")),
    }
}

/// A target that a rollback left alone, because there was nothing to take back, reads as it did before.
fn status(detail: &ItemDetail, run: &Run, records: &[ChangeRecord]) -> BatchStatus {
    let item = &detail.item;
    let restored = records.last().is_some_and(|change| change.restored.is_some());
    if run.mode != Mode::Rollback || item.state != ItemState::Skipped || restored {
        return BatchStatus::of_task(&ItemView::of(item, run));
    }
    match detail.attempts.iter().rev().find(|attempt| attempt.run != run.id).and_then(|attempt| attempt.outcome) {
        Some(Outcome::Succeeded | Outcome::Skipped) => BatchStatus::Success,
        Some(Outcome::Failed) => BatchStatus::Fail,
        _ => BatchStatus::Cancel,
    }
}
