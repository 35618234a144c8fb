//! A plan's frozen definition: source, slicing and destination, and nothing that is secret.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::spec::Spec;
use windrow_model::ingest::Origin;
use windrow_model::retry::RetryPolicy;

use super::column::Types;
use super::slicing::Slicing;

pub const KIND: &str = "ingest";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngestSpec {
    /// Name of the plan in its workspace; its checkpoints are kept under it.
    pub plan: String,
    pub origin: Origin,
    pub source: Component,
    pub slicing: Slicing,
    pub destination: Component,
    pub rules: Rules,
    pub retry: RetryPolicy,
}

/// One of several kinds, and its configuration as its own module wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    pub kind: String,
    pub config: Value,
}

/// Reads and checks the section of one kind of source or destination; gives its configuration.
pub type Read = fn(&Section, Base<'_>, &mut Problems) -> Option<Value>;

/// What becomes of records on their way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Where records go that do not say so themselves.
    pub table: String,
    /// What identifies a record; empty: every one is new.
    pub key: Vec<String>,
    /// An expression over a record; where it holds the record is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rejected: Option<Tolerance>,
    #[serde(default, skip_serializing_if = "Types::is_default")]
    pub types: Types,
}

/// How many records may be put aside before the run stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    Records(i64),
    Share(f64),
}

impl Tolerance {
    pub fn is_exceeded(self, failed: i64, fetched: i64) -> bool {
        match self {
            Tolerance::Records(most) => failed > most,
            Tolerance::Share(share) => failed as f64 > share * fetched as f64,
        }
    }
}

impl Spec for IngestSpec {}

/// I8: the hash of what says which records are read and how.
pub fn expr_hash(source: &Component, slicing: &Slicing, rules: &Rules) -> String {
    let value = serde_json::json!({ "source": source, "slicing": slicing, "rules": rules });
    blake3::hash(canonical(&value).as_bytes()).to_hex()[..16].to_owned()
}
