//! The type of a column, and how it widens when a value does not fit: never so that a value changes. A
//! column only ever becomes wider.

use std::borrow::Cow;

use serde_json::Value;

/// From narrow to wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Boolean,
    Integer,
    Real,
    Text,
    /// Lists and objects.
    Json,
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
            _ => false,
        }
    }

    /// As a column of texts or of JSON has it; `None` for null.
    pub fn text(self, value: &Value) -> Option<Cow<'_, str>> {
        match (self, value) {
            (_, Value::Null) => None,
            (Self::Text, Value::String(text)) => Some(text.into()),
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
        ] {
            assert_eq!(column.widened(&value), wider, "{column:?} and {value}");
            assert!(wider.holds(&value));
        }
    }
}
