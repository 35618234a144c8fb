//! What a row answers to a name.

use std::borrow::Cow;

use windrow_model::step::{Usage, Verdict};

use crate::query::name::{Kind, Name};
use crate::row::{ResultRow, text_of};

#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Number(f64),
    Text(Cow<'a, str>),
    /// Several at once, e.g. the verdicts of all turns.
    Words(Vec<&'static str>),
}

impl<'a> Value<'a> {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Value::Null => "".into(),
            Value::Number(number) => number.to_string().into(),
            Value::Text(text) => text.as_ref().into(),
            Value::Words(words) => words.first().copied().unwrap_or_default().into(),
        }
    }

    fn number(number: Option<f64>) -> Self {
        number.map_or(Value::Null, Value::Number)
    }

    fn of_text(text: Option<&'a str>) -> Self {
        text.map_or(Value::Null, |text| Value::Text(text.into()))
    }
}

/// A row, and the row of the baseline that it is paired with.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub row: &'a ResultRow,
    pub baseline: Option<&'a ResultRow>,
}

impl<'a> Seen<'a> {
    /// After less before.
    pub fn delta(&self, evaluator: &str) -> Option<f64> {
        Some(self.row.score(evaluator)? - self.baseline?.score(evaluator)?)
    }

    pub fn change(&self, evaluator: &str) -> Option<&'static str> {
        self.delta(evaluator).map(change_of)
    }

    /// The same of another number of the row.
    fn difference(&self, of: impl Fn(&ResultRow) -> Option<f64>) -> Value<'a> {
        let before = self.baseline.and_then(&of);
        Value::number(of(self.row).and_then(|after| Some(after - before?)))
    }

    pub fn value(&self, name: &Name) -> Value<'a> {
        let row = self.row;
        match name {
            Name::Id => Value::Number(row.item.0 as f64),
            Name::Row => Value::Number((row.ordinal + 1) as f64),
            Name::Key => Value::Text(row.key.to_string().into()),
            Name::Variant => Value::of_text(row.variant.as_deref()),
            Name::Target => Value::of_text(row.target()),
            Name::Prompt => Value::of_text(row.prompt()),
            Name::Trial => Value::Number(row.trial as f64),
            Name::State => Value::Text(row.state.as_str().into()),
            Name::Outcome => Value::Text(row.outcome.as_str().into()),
            Name::Run => Value::Number(row.run as f64),
            Name::Error => Value::of_text(row.error.as_ref().map(|(class, _)| class.as_str())),
            Name::Message => Value::of_text(row.error.as_ref().map(|(_, message)| message.as_str())),
            Name::Tries => Value::Number(f64::from(row.tries)),
            Name::Turns => Value::Number(f64::from(row.turns)),
            Name::Flaky => Value::Text(if row.flaky { "true" } else { "false" }.into()),
            Name::Removed => Value::Text(if row.removed { "true" } else { "false" }.into()),
            Name::Reviewed => Value::Text(if row.is_reviewed() { "true" } else { "false" }.into()),
            Name::LatencyMs => Value::number(row.latency_ms.map(|ms| ms as f64)),
            Name::TokensIn => Value::Number(row.usage.tokens_in as f64),
            Name::TokensOut => Value::Number(row.usage.tokens_out as f64),
            Name::Tokens => Value::Number(tokens(row.usage)),
            Name::Cost => Value::Number(row.usage.cost_nanos as f64 / 1e9),
            Name::FinishedAt => Value::number(row.finished_at.map(|at| at.0 as f64)),
            Name::Trace => Value::Text(row.trace.to_string().into()),
            Name::Input => Value::Text(row.input.as_str().into()),
            Name::Output => Value::of_text(row.output.as_deref()),
            Name::Expected => Value::of_text(row.expected.as_deref()),
            Name::AnyText => Value::Text(any_text(row).into()),
            Name::OutputOf(column) => Value::of_text(row.outputs.get(column).map(String::as_str)),
            Name::Field(field, kind) => of_field(row, field, *kind),
            Name::Score(evaluator) => Value::number(row.score(evaluator)),
            Name::Verdict(evaluator) => {
                verdicts(|verdict| row.of_evaluator(evaluator).any(|score| score.verdict == *verdict))
            }
            Name::Reason(evaluator) => row.reason(evaluator).map_or(Value::Null, |text| Value::Text(text.into())),
            Name::Delta(evaluator) => Value::number(self.delta(evaluator)),
            Name::DeltaLatencyMs => self.difference(|row| row.latency_ms.map(|ms| ms as f64)),
            Name::DeltaTokens => self.difference(|row| Some(tokens(row.usage))),
            Name::DeltaCost => Value::number(self.baseline.map(|before| cost_delta(row.usage, before.usage))),
            Name::Change(evaluator) => Value::of_text(self.change(evaluator)),
            Name::BaselineScore(evaluator) => Value::number(self.baseline.and_then(|row| row.score(evaluator))),
            Name::Label(name) => row.label(name).map_or(Value::Null, |label| Value::Text(label.text().into())),
            Name::Corrected(name) => Value::number(row.corrected(name)),
            Name::BaselineOutput => Value::of_text(self.baseline.and_then(|row| row.output.as_deref())),
            Name::BaselineOutcome => Value::of_text(self.baseline.map(|row| row.outcome.as_str())),
        }
    }
}

pub(crate) fn tokens(usage: Usage) -> f64 {
    (usage.tokens_in + usage.tokens_out) as f64
}

/// In US dollars, exact to the nano-dollar.
pub(crate) fn cost_delta(after: Usage, before: Usage) -> f64 {
    (after.cost_nanos - before.cost_nanos) as f64 / 1e9
}

/// Input, output and reasons, each on a line of its own.
fn any_text(row: &ResultRow) -> String {
    let mut parts = vec![row.input.as_str()];
    parts.extend(row.output.as_deref());
    parts.extend(row.outputs.values().map(String::as_str));
    parts.extend(row.scores.iter().map(|score| score.reason.as_str()));
    parts.join("\n")
}

fn of_field<'a>(row: &'a ResultRow, field: &str, kind: Kind) -> Value<'a> {
    row.fields.get(field).map_or(Value::Null, |value| of_json(value, kind))
}

pub(crate) fn change_of(delta: f64) -> &'static str {
    match delta {
        delta if delta > 0.0 => "improved",
        delta if delta < 0.0 => "regressed",
        _ => "same",
    }
}

/// A field of this kind.
pub(crate) fn of_json(value: &serde_json::Value, kind: Kind) -> Value<'_> {
    match (kind, value) {
        (_, serde_json::Value::Null) => Value::Null,
        (Kind::Number, value) => Value::number(value.as_f64()),
        (_, serde_json::Value::String(text)) => Value::Text(text.as_str().into()),
        (_, value) => Value::Text(text_of(value).into()),
    }
}

pub(crate) fn verdicts<'a>(found: impl Fn(&Verdict) -> bool) -> Value<'a> {
    // What is worse comes first, for orders and groups.
    let worst_first = [Verdict::Fail, Verdict::Error, Verdict::Pass, Verdict::Skipped];
    let words: Vec<&str> =
        worst_first.iter().filter(|verdict| found(verdict)).map(|verdict| verdict.as_str()).collect();
    if words.is_empty() { Value::Null } else { Value::Words(words) }
}
