//! The type of a column, and how it widens when a value does not fit: never so that a value changes. A
//! column only ever becomes wider, and only where the plan allows it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

windrow_model::vocabulary! {
    /// The type of a column.
    pub enum Column {
        #[doc = "True or false."]
        Boolean = "boolean",
        #[doc = "A whole number of 64 bits."]
        Integer = "integer",
        #[doc = "A floating-point number."]
        Real = "real",
        #[doc = "A number with up to 28 digits before and 10 after the point, exact."]
        Decimal = "decimal",
        #[doc = "A moment with its zone or offset, to the microsecond."]
        Timestamp = "timestamp",
        #[doc = "Any text."]
        Text = "text",
        #[doc = "Lists and objects."]
        Json = "json",
    }
}

windrow_model::vocabulary! {
    /// What happens when a value does not fit its column.
    pub enum OnTypeChange {
        #[doc = "The column becomes wider."]
        Widen = "widen",
        #[doc = "The record is rejected and kept in `_windrow_rejected`."]
        Reject = "reject",
        #[doc = "The run stops before the batch is written."]
        Stop = "stop",
    }
}

/// What a plan says about the types of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    pub on_change: OnTypeChange,
    /// Declared ones. They never change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, Column>,
}

impl Default for Types {
    fn default() -> Self {
        Self { on_change: OnTypeChange::Widen, columns: BTreeMap::new() }
    }
}

impl Types {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Databases do not tell upper case from lower in names.
    pub fn declared(&self, name: &str) -> Option<Column> {
        let same = |(known, column): (&String, &Column)| known.eq_ignore_ascii_case(name).then_some(*column);
        self.columns.get(name).copied().or_else(|| self.columns.iter().find_map(same))
    }

    /// Whether a column of this type may become wider.
    pub fn may_widen(&self, name: &str, column: Column) -> bool {
        let is_exact = matches!(column, Column::Decimal | Column::Timestamp);
        self.on_change == OnTypeChange::Widen && !is_exact && self.declared(name).is_none()
    }
}

impl Column {
    /// Whole numbers beyond it are not exact as a real.
    pub const EXACT: u64 = 1 << 53;

    /// `None`: null fits everywhere.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => None,
            Value::Bool(_) => Some(Self::Boolean),
            Value::Number(number) if number.is_i64() => Some(Self::Integer),
            // Beyond 64 bits with a sign only its digits are exact.
            Value::Number(number) if number.is_u64() => Some(Self::Text),
            Value::Number(_) => Some(Self::Real),
            Value::String(_) => Some(Self::Text),
            Value::Array(_) | Value::Object(_) => Some(Self::Json),
        }
    }

    /// Whether the value can be written as it is.
    pub fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) | (Self::Text | Self::Json, _) => true,
            (Self::Boolean, Value::Bool(_)) => true,
            (Self::Integer, Value::Number(number)) => number.is_i64(),
            (Self::Real, Value::Number(number)) => {
                number.is_f64() || number.as_i64().is_some_and(|whole| whole.unsigned_abs() <= Self::EXACT)
            }
            (Self::Decimal, value) => decimal(value).is_some(),
            (Self::Timestamp, value) => moment(value).is_some(),
            _ => false,
        }
    }

    /// As a column of texts or of JSON has it; `None` for null.
    pub fn text(self, value: &Value) -> Option<Cow<'_, str>> {
        match (self, value) {
            (_, Value::Null) => None,
            (Self::Text, Value::String(text)) => Some(text.into()),
            (Self::Decimal, value) => decimal(value).map(Cow::Owned),
            // In UTC, so that moments sort as texts too.
            (Self::Timestamp, value) => moment(value).map(|moment| moment.to_string().into()),
            (_, other) => Some(other.to_string().into()),
        }
    }

    /// The narrowest that holds both what the column has and the value.
    pub fn widened(self, value: &Value) -> Self {
        match (self, value) {
            _ if self.holds(value) => self,
            (Self::Integer, Value::Number(number)) if number.is_f64() => Self::Real,
            _ => Self::Text,
        }
    }

    /// Whether a column of the other type can be what is declared: some databases have no type for JSON.
    pub fn is_as_declared(self, declared: Self) -> bool {
        let is_text = |column| matches!(column, Self::Text | Self::Json);
        self == declared || (is_text(self) && is_text(declared))
    }
}

const WHOLE_DIGITS: usize = 28;
const FRACTION_DIGITS: usize = 10;

/// The digits of a number that a decimal column holds without rounding.
fn decimal(value: &Value) -> Option<String> {
    let text = match value {
        // A floating-point number is written without an exponent.
        Value::Number(number) => {
            number.as_f64().filter(|_| number.is_f64()).map_or(number.to_string(), |real| real.to_string())
        }
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fits =
        whole.trim_start_matches('0').len() <= WHOLE_DIGITS && fraction.trim_end_matches('0').len() <= FRACTION_DIGITS;
    (is_digits(whole) && is_digits(fraction) && fits).then_some(text)
}

/// A text that names one moment, whatever the zone of whoever reads it.
fn moment(value: &Value) -> Option<Timestamp> {
    let moment: Timestamp = value.as_str()?.parse().ok()?;
    (moment.subsec_nanosecond() % 1_000 == 0).then_some(moment)
}

/// As databases write it that take no zone: in UTC.
pub fn plain_moment(value: &Value) -> Option<String> {
    moment(value).map(|moment| moment.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn widening_never_changes_a_value() {
        for (column, value, wider) in [
            (Column::Integer, json!(7), Column::Integer),
            (Column::Integer, json!(7.5), Column::Real),
            (Column::Integer, json!("007"), Column::Text),
            (Column::Integer, json!(true), Column::Text),
            (Column::Integer, json!(u64::MAX), Column::Text),
            (Column::Real, json!(7), Column::Real),
            (Column::Real, json!(i64::MAX), Column::Text),
            (Column::Boolean, json!(1), Column::Text),
            (Column::Text, json!({ "a": 1 }), Column::Text),
            (Column::Json, json!("plain"), Column::Json),
            (Column::Boolean, json!(null), Column::Boolean),
            (Column::Decimal, json!("12.50"), Column::Decimal),
            (Column::Timestamp, json!("2026-01-01T00:00:00+02:00"), Column::Timestamp),
        ] {
            assert_eq!(column.widened(&value), wider, "{column:?} and {value}");
            assert!(wider.holds(&value));
        }
    }

    #[test]
    fn decimals_and_moments_hold_only_what_they_keep_exactly() {
        for number in
            [json!(7), json!(-1.25), json!("0.1000000000"), json!(1e-7), json!("9999999999999999999999999999")]
        {
            assert!(Column::Decimal.holds(&number), "{number}");
        }
        for other in [json!("1e3"), json!(""), json!("."), json!("1.12345678901"), json!("1".repeat(29)), json!(true)] {
            assert!(!Column::Decimal.holds(&other), "{other}");
        }
        assert_eq!(Column::Decimal.text(&json!(1e-7)).unwrap(), "0.0000001");
        let moment = json!("2026-01-01T01:30:00.25+01:00");
        assert_eq!(Column::Timestamp.text(&moment).unwrap(), "2026-01-01T00:30:00.25Z");
        assert_eq!(plain_moment(&moment).unwrap(), "2026-01-01 00:30:00.250000");
        for other in
            [json!("2026-01-01"), json!("2026-01-01T00:00:00"), json!(17), json!("2026-01-01T00:00:00.0000001Z")]
        {
            assert!(!Column::Timestamp.holds(&other), "{other}");
        }
    }

    #[test]
    fn what_is_declared_or_exact_never_widens() {
        let types = Types { columns: BTreeMap::from([("Price".into(), Column::Decimal)]), ..Types::default() };
        assert!(types.may_widen("n", Column::Integer) && !types.may_widen("price", Column::Integer));
        assert!(!types.may_widen("at", Column::Timestamp));
        let strict = Types { on_change: OnTypeChange::Reject, ..Types::default() };
        assert!(!strict.may_widen("n", Column::Integer));
    }
}
