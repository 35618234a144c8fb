//! Records between a source and a destination.

use serde_json::{Map, Value};
use windrow_model::Time;

pub type Record = Map<String, Value>;

/// Records for one table, as a source gives them.
#[derive(Debug, Default)]
pub struct Table {
    /// `None`: the plan's own.
    pub name: Option<String>,
    /// `None`: the plan's own key.
    pub key: Option<Vec<String>>,
    pub records: Vec<Value>,
}

/// A record that was put aside, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    pub table: String,
    pub record: Value,
    pub reason: String,
}

/// A rejected record as the destination keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct PutAside {
    pub id: i64,
    pub scope: String,
    /// Of the ledger entry of its batch.
    pub version: i64,
    pub table: String,
    pub record: Value,
    pub reason: String,
    pub at: Time,
}
