//! What the API answers when it cannot do what it was asked (RFC 9457, `application/problem+json`).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Documentation of the code.
    pub r#type: String,
    /// The code in words.
    pub title: String,
    pub status: u16,
    /// What failed and why.
    pub detail: String,
    /// The code, for programs; it never changes.
    pub code: String,
    /// The field of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// All errors in a job file or in rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PlacedProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacedProblem {
    /// The job file, or the dataset it names.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<usize>,
    /// The text of the line.
    pub text: Option<String>,
    pub message: String,
    pub remedy: String,
}
