//! Results of the health checks (I10).

use serde::Serialize;
use utoipa::ToSchema;
use windrow_model::health::{Check, Example, Finding, HealthThresholds};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct HealthCheck {
    pub name: Check,
    /// `ok`, or `attention` if the check found something.
    pub status: &'static str,
    /// Number of findings; at most 1000 are counted per run.
    pub count: i64,
    /// How long the condition may last before it is a finding.
    pub threshold_ms: i64,
    pub about: &'static str,
    /// What to do about the findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
    /// The oldest findings.
    pub examples: Vec<HealthExample>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct HealthExample {
    /// The job's name.
    pub job: String,
    pub job_id: String,
    pub run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    pub since: Timestamp,
}

impl HealthCheck {
    pub fn new(finding: &Finding, patience: &HealthThresholds) -> Self {
        let found = finding.count > 0;
        Self {
            name: finding.check,
            status: if found { "attention" } else { "ok" },
            count: finding.count,
            threshold_ms: patience.ms(finding.check),
            about: finding.check.doc(),
            remedy: found.then(|| finding.check.remedy()),
            examples: finding.examples.iter().map(HealthExample::from).collect(),
        }
    }
}

impl From<&Example> for HealthExample {
    fn from(example: &Example) -> Self {
        Self {
            job: example.name.clone(),
            job_id: example.job.to_string(),
            run: example.run.to_string(),
            item: example.item.map(|item| item.to_string()),
            since: example.since.into(),
        }
    }
}
