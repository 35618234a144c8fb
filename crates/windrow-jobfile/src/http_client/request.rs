//! A call as it is recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// References stand where secrets are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub method: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

impl Request {
    pub fn new(method: &str, url: String, body: Option<Value>) -> Self {
        Self { method: method.to_owned(), url, headers: BTreeMap::new(), body }
    }
}
