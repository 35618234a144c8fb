//! One finding and its remedy.

use serde::Serialize;

windrow_model::vocabulary! {
    /// How bad a finding is.
    pub enum Grade {
        #[doc = "As it should be."]
        Ok = "ok",
        #[doc = "It works, but not as well as it could, or not for long."]
        Warning = "warning",
        #[doc = "Something does not work."]
        Failure = "failure",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub grade: Grade,
    pub finding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Check {
    pub fn ok(name: &'static str, finding: impl Into<String>) -> Self {
        Self { name, grade: Grade::Ok, finding: finding.into(), remedy: None }
    }

    pub fn warning(name: &'static str, finding: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, grade: Grade::Warning, finding: finding.into(), remedy: Some(remedy.into()) }
    }

    pub fn failure(name: &'static str, finding: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, grade: Grade::Failure, finding: finding.into(), remedy: Some(remedy.into()) }
    }
}
