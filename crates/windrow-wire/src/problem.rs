//! What the API answers when it cannot do what it was asked (RFC 9457, `application/problem+json`).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A page on this kind of problem.
    pub r#type: String,
    /// The kind of problem, for people.
    pub title: String,
    pub status: u16,
    /// What is wrong this time.
    pub detail: String,
    /// The kind of problem, for programs; it stays the same from version to version.
    pub code: String,
    /// The field of the request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Everything that is wrong with a job file or with rows that were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PlacedProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacedProblem {
    /// The job file, or the dataset it names.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<usize>,
    /// What stands there.
    pub text: Option<String>,
    pub message: String,
    pub remedy: String,
}
