//! What counts of everything that people said about a row.

use windrow_model::Time;
use windrow_model::label::{self, Label};
use windrow_model::step::{ContentKey, Verdict};

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RowLabel {
    pub name: String,
    pub verdict: Option<Verdict>,
    pub value: Option<f64>,
    pub note: Option<String>,
    pub reason: String,
    pub author: String,
    pub at: Time,
    /// Another output was looked at.
    pub outdated: bool,
}

impl RowLabel {
    /// A value as it is, a pass as 1 and a fail as 0; `None` for a note.
    pub fn number(&self) -> Option<f64> {
        self.value.or(match self.verdict {
            Some(Verdict::Pass) => Some(1.0),
            Some(Verdict::Fail) => Some(0.0),
            _ => None,
        })
    }

    /// The verdict as given; of a value alone, whether it is at least 0.5.
    pub fn passes(&self) -> Option<bool> {
        match self.verdict {
            Some(verdict) => Some(verdict == Verdict::Pass),
            None => self.value.map(|value| value >= 0.5),
        }
    }

    pub fn text(&self) -> String {
        match (&self.note, self.value, self.verdict) {
            (Some(note), ..) => note.clone(),
            (None, Some(value), _) => value.to_string(),
            (None, None, verdict) => verdict.map(|verdict| verdict.to_string()).unwrap_or_default(),
        }
    }
}

/// What counts of a history, by name.
pub fn current(history: &[Label], output: ContentKey) -> Vec<RowLabel> {
    let label = |label: &Label| RowLabel {
        name: label.what.name.clone(),
        verdict: label.what.verdict,
        value: label.what.value,
        note: label.what.note.clone(),
        reason: label.what.reason.clone(),
        author: label.author.clone(),
        at: label.at,
        outdated: label.what.output.is_some_and(|looked_at| looked_at != output),
    };
    label::current(history).into_values().map(label).collect()
}
