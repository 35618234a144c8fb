//! An evaluator as it is frozen: its name, its configuration, and what it judges.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedComponent {
    pub name: String,
    pub kind: String,
    pub config: Value,
    #[serde(default = "Over::turn", skip_serializing_if = "Over::is_turn")]
    pub over: Over,
    /// An expression over the row; where it does not hold the evaluator is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The column it judges, where the job has columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The columns its templates see, beside the one it judges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
}

impl NamedComponent {
    /// All the columns that must be there before it judges.
    pub fn needs(&self) -> Vec<String> {
        let judged = self.of.iter().filter(|of| !self.reads.contains(of));
        judged.chain(&self.reads).cloned().collect()
    }
}

windrow_model::vocabulary! {
    /// What an evaluator looks at.
    pub enum Over {
        #[doc = "Each answer, as soon as it is there."]
        Turn = "turn",
        #[doc = "The whole conversation, once it is over: its output is the transcript."]
        Conversation = "conversation",
    }
}

impl Over {
    fn turn() -> Self {
        Over::Turn
    }

    fn is_turn(&self) -> bool {
        *self == Over::Turn
    }
}
