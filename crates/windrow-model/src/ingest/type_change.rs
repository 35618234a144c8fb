//! A value that did not fit the type of its column, and what was done with it.

use serde::{Deserialize, Serialize};

crate::vocabulary! {
    /// What was done about it.
    pub enum TypeAction {
        #[doc = "The column became wider."]
        Widened = "widened",
        #[doc = "The records were rejected and kept in `_windrow_rejected`."]
        Rejected = "rejected",
        #[doc = "The run stopped before the batch was written."]
        Stopped = "stopped",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TypeChange {
    pub table: String,
    pub column: String,
    /// The type of the column before.
    pub from: String,
    /// The type it became, or would have become.
    pub to: String,
    pub action: TypeAction,
    /// How many records did not fit.
    pub records: i64,
}

impl TypeChange {
    /// The same happened to the same column.
    pub fn is_like(&self, other: &TypeChange) -> bool {
        let Self { table, column, from, to, action, records: _ } = self;
        (table, column, from, to, action) == (&other.table, &other.column, &other.from, &other.to, &other.action)
    }

    /// Adds one to others; what happened to the same column again is counted with it.
    pub fn add_to(self, others: &mut Vec<TypeChange>) {
        match others.iter_mut().find(|other| other.is_like(&self)) {
            Some(known) => known.records += self.records,
            None => others.push(self),
        }
    }
}

impl std::fmt::Display for TypeChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { table, column, from, to, action, records } = self;
        match action {
            TypeAction::Widened => write!(f, "{table}.{column} widened from {from} to {to}"),
            TypeAction::Rejected => {
                write!(f, "{table}.{column} is {from}: {records} rejected with a value of type {to}")
            }
            TypeAction::Stopped => write!(f, "{table}.{column} is {from}, and a value of type {to} came"),
        }
    }
}
