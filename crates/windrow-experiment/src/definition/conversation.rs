//! `conversation:` of an experiment: where the person's messages come from.

use serde::{Deserialize, Serialize};

use super::component::Component;

/// The variable that holds what a simulated user says.
pub const USER: &str = "user";

/// `conversation:` as it is frozen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ConversationMode {
    /// The person's messages are in the row, the model's are its own answers.
    #[default]
    Scripted,
    /// As scripted, but the model is told it said what stands in the turn's field `reply`.
    Forced {
        reply: String,
    },
    Simulated(Simulated),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// The model that plays the person.
    pub user: Component,
    pub persona: String,
    pub goal: String,
    pub max_turns: usize,
    pub stop: String,
}

impl ConversationMode {
    pub fn is_scripted(&self) -> bool {
        *self == ConversationMode::Scripted
    }
}
