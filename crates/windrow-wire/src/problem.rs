//! Error response of the API (RFC 9457, `application/problem+json`).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// URL of a page about this kind of error.
    pub r#type: String,
    /// The kind of error, for display.
    pub title: String,
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// The kind of error, for programs; stable across versions.
    pub code: String,
    /// The request field that caused the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Where in the field the error is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// All errors of a job file or of the rows that were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PlacedProblem>,
}

/// A range of characters, from 0; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Place {
    pub from: usize,
    pub to: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacedProblem {
    /// The job file, or the dataset it names.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<usize>,
    /// Where in the line it begins, from 1.
    #[serde(default)]
    pub column: Option<usize>,
    /// Characters from there on.
    #[serde(default)]
    pub length: Option<usize>,
    /// The text of that line.
    pub text: Option<String>,
    pub message: String,
    pub remedy: String,
}
