//! A value of a row as a program takes it away: a JSON value of one type per column.

use jiff::Timestamp;
use serde_json::Value;

use crate::query::{Kind, Name, Seen};

/// Null where the row has no value.
pub fn cell(seen: &Seen<'_>, name: &Name) -> Value {
    let row = seen.row;
    match name {
        Name::Id => row.item.0.into(),
        Name::Row => (row.ordinal + 1).into(),
        Name::Trial => row.trial.into(),
        Name::Run => row.run.into(),
        Name::Tries => row.tries.into(),
        Name::Turns => row.turns.into(),
        Name::Flaky => row.flaky.into(),
        Name::Removed => row.removed.into(),
        Name::Reviewed => row.is_reviewed().into(),
        Name::LatencyMs => row.latency_ms.into(),
        Name::TokensIn => row.usage.tokens_in.into(),
        Name::TokensOut => row.usage.tokens_out.into(),
        Name::Tokens => (row.usage.tokens_in + row.usage.tokens_out).into(),
        Name::FinishedAt => {
            row.finished_at.and_then(|at| Timestamp::from_millisecond(at.0).ok()).map(|at| at.to_string()).into()
        }
        Name::Field(field, _) => row.fields.get(field).cloned().unwrap_or(Value::Null),
        name => match seen.value(name) {
            crate::query::Value::Null => Value::Null,
            crate::query::Value::Number(number) => number.into(),
            value => value.text().into_owned().into(),
        },
    }
}

/// Whole numbers, as opposed to numbers with a fraction.
pub fn is_whole(name: &Name) -> bool {
    let fraction = matches!(name, Name::Cost | Name::DeltaCost | Name::Score(_) | Name::Delta(_))
        || matches!(name, Name::BaselineScore(_) | Name::Corrected(_));
    name.kind() == Kind::Number && !fraction && !matches!(name, Name::Field(..))
}
