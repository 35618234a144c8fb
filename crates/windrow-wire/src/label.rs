//! What people said about rows: labels, their history, and how far evaluators agree with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::Interval;
use windrow_model::label::Label;
use windrow_model::number::rater::{Confusion, Threshold};

use crate::Timestamp;

/// What a person says about rows: of the items that are named, or of those that a condition selects.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LabelRequest {
    /// Ids of items.
    pub items: Option<Vec<String>>,
    /// Instead of ids: every row for which this holds, e.g. `outcome = fail and reviewed = false`.
    pub r#where: Option<String>,
    /// By evaluator, `outcome` for the row as a whole, or `note`: `"pass"`, `"fail"`, a number, a text (under `note` and
    /// names of your own), or null to clear it.
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    pub labels: BTreeMap<String, serde_json::Value>,
    pub reason: String,
    /// Accept names that are neither evaluators nor in use.
    pub new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Labelled {
    pub job: String,
    /// Items that were named or selected.
    pub items: i64,
    /// Labels that say something new.
    pub added: i64,
}

/// One entry of the history of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LabelView {
    pub id: i64,
    pub item: String,
    /// An evaluator, `outcome`, `note` or a name of your own.
    pub name: String,
    /// `pass` or `fail`.
    pub verdict: Option<String>,
    pub value: Option<f64>,
    pub note: Option<String>,
    /// Takes back what was said before under this name.
    pub cleared: bool,
    pub reason: String,
    pub author: String,
    pub at: Timestamp,
}

impl From<&Label> for LabelView {
    fn from(label: &Label) -> Self {
        Self {
            id: label.id,
            item: label.what.item.to_string(),
            name: label.what.name.clone(),
            verdict: label.what.verdict.map(|verdict| verdict.to_string()),
            value: label.what.value,
            note: label.what.note.clone(),
            cleared: label.what.is_clear(),
            reason: label.what.reason.clone(),
            author: label.author.clone(),
            at: label.at.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LabelList {
    /// In the order in which they were given.
    pub labels: Vec<LabelView>,
    /// Pass it as `after` for the next page; null on the last.
    pub next: Option<i64>,
}

/// How far the evaluators of a job agree with people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgreementView {
    pub job: String,
    /// Rows with a verdict or a value by a person on their current output.
    pub reviewed: i64,
    /// Labelled rows whose output has changed since; they take no part.
    pub outdated: i64,
    pub evaluators: Vec<EvaluatorAgreement>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluatorAgreement {
    pub name: String,
    /// Rows with a verdict by the evaluator and by a person.
    pub n: i64,
    pub confusion: Confusion,
    /// Share of equal verdicts.
    pub accuracy: Option<f64>,
    /// Wilson's 95% interval.
    pub accuracy_interval: Option<Interval>,
    /// Cohen's kappa; null where both gave one verdict only.
    pub kappa: Option<f64>,
    /// Krippendorff's alpha of the verdicts (nominal).
    pub alpha: Option<f64>,
    /// Krippendorff's alpha of the values (interval scale).
    pub value_alpha: Option<f64>,
    /// The pass mark at which the evaluator's values agree best with people; null where it cannot be told.
    pub threshold: Option<Threshold>,
}
