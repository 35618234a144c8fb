//! Invalid gRPC messages.

use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;
use windrow_model::Json;

/// The field and the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bad(pub String);

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Bad> for tonic::Status {
    fn from(Bad(why): Bad) -> Self {
        tonic::Status::invalid_argument(why)
    }
}

pub fn missing(field: &str) -> Bad {
    Bad(format!("`{field}` is missing"))
}

/// Parses an id or a value of a closed list.
pub fn parsed<T: FromStr<Err: fmt::Display>>(field: &str, text: &str) -> Result<T, Bad> {
    text.parse().map_err(|error| Bad(format!("`{field}`: {error}")))
}

/// An empty string is `null`.
pub fn json(field: &str, text: String) -> Result<Json, Bad> {
    if text.is_empty() {
        return Ok(Json::null());
    }
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(_) => Ok(Json::from_text(text)),
        Err(error) => Err(Bad(format!("`{field}` is not JSON: {error}"))),
    }
}
