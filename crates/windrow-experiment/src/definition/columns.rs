//! `columns:` as it is frozen (T15): what is computed step by step inside an item, in the order of computation.

use serde::{Deserialize, Serialize};

use crate::definition::component::Component;
use crate::definition::message::MessageTemplate;
use crate::definition::named::NamedComponent;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    pub name: String,
    pub computed: Computed,
    /// The columns it sees beside the row; each comes before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
}

/// What fills a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Computed {
    Target {
        target: Component,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<MessageTemplate>,
    },
    Template(String),
    Evaluator(NamedComponent),
}

impl ColumnSpec {
    /// Whether the cell is a text that can be judged, and not a judgement itself.
    pub fn is_output(&self) -> bool {
        !matches!(self.computed, Computed::Evaluator(_))
    }

    pub fn target(&self) -> Option<(&Component, &[MessageTemplate])> {
        match &self.computed {
            Computed::Target { target, messages } => Some((target, messages)),
            _ => None,
        }
    }

    pub fn evaluator(&self) -> Option<&NamedComponent> {
        match &self.computed {
            Computed::Evaluator(evaluator) => Some(evaluator),
            _ => None,
        }
    }
}
