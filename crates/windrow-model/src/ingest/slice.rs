//! A slice of a plan: the part of the source that one task reads, and where it comes from (I8).

use serde_json::Value;

use crate::time::Time;

/// Recorded on every level of the lineage: where data is from, what is done, and the hash of the
/// expression that says how.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    pub provenance: String,
    pub operation: String,
    pub expr_hash: String,
}

/// What of the source it is.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    All,
    /// From, and up to but not including.
    Time {
        from: String,
        to: String,
        closed_at: Time,
    },
    Keys {
        from: i64,
        to: i64,
    },
    Value(Value),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slice {
    /// Unique in its plan: `all`, `2026-01-01..2026-01-02`, `eu`.
    pub name: String,
    pub span: Span,
    /// The quarter of a day it was planned in: a slice that is read every minute is another item later on,
    /// because the tries of one item are counted over its whole life.
    pub quarter: String,
    #[serde(flatten)]
    pub origin: Origin,
}

impl Slice {
    /// When nothing can be added to it any more.
    pub fn closed_at(&self) -> Option<Time> {
        match &self.span {
            Span::Time { closed_at, .. } => Some(*closed_at),
            _ => None,
        }
    }

    /// What templates see as `slice`.
    pub fn variables(&self) -> Value {
        match &self.span {
            Span::All => serde_json::json!({ "name": self.name }),
            Span::Time { from, to, .. } => serde_json::json!({ "name": self.name, "from": from, "to": to }),
            Span::Keys { from, to } => serde_json::json!({ "name": self.name, "from": from, "to": to }),
            Span::Value(value) => serde_json::json!({ "name": self.name, "value": value }),
        }
    }
}
