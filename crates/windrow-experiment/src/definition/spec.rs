//! An experiment's frozen definition: everything needed to run it, and nothing that is secret.

use serde::{Deserialize, Serialize};
use windrow_jobfile::dataset::Dataset;
use windrow_jobfile::prices::PriceList;
use windrow_jobfile::spec::Spec;
use windrow_model::gate::Quality;
use windrow_model::retry::RetryPolicy;

use crate::definition::columns::ColumnSpec;
use crate::definition::component::Component;
use crate::definition::conversation::ConversationMode;
use crate::definition::message::MessageTemplate;
pub use crate::definition::named::{NamedComponent, Over};

pub const KIND: &str = "experiment";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSpec {
    pub dataset: Dataset,
    /// The fields that identify a row; its content where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id: Vec<String>,
    /// Of a job without variants.
    #[serde(default, skip_serializing_if = "Component::is_none")]
    pub target: Component,
    /// Empty for targets that need none.
    pub messages: Vec<MessageTemplate>,
    /// Each row is put to each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// What is computed step by step instead of one target, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
    /// The run fills this column only, and what it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    #[serde(default, skip_serializing_if = "ConversationMode::is_scripted")]
    pub conversation: ConversationMode,
    pub evaluators: Vec<NamedComponent>,
    /// What the user says models cost, before our own table.
    #[serde(default, skip_serializing_if = "PriceList::is_empty")]
    pub prices: PriceList,
    /// Results of equal calls of other items and jobs are reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache: bool,
    /// How often each row is tried.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub trials: u32,
    /// When and beside what the items of a row run.
    #[serde(default, skip_serializing_if = "RowTemplates::is_empty")]
    pub row: RowTemplates,
    /// Words that no row may have, beside those of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<String>,
    /// Where a server sends the results of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// What makes a run good enough.
    #[serde(default, skip_serializing_if = "Quality::is_empty")]
    pub quality: Quality,
    /// Only so many rows, from the start: a trial run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Only workers elsewhere that have this capability do its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    pub timeout_ms: i64,
    pub retry: RetryPolicy,
}

impl Spec for ExperimentSpec {}

/// One cell of the matrix: a target and what it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// `TARGET.PROMPT`, or the one of the two that has a name.
    pub name: String,
    pub target: Component,
    pub messages: Vec<MessageTemplate>,
}

impl ExperimentSpec {
    /// What is asked of whom; one entry for a job without variants, none for one with columns.
    pub fn asked(&self) -> Vec<(Option<&str>, &Component, &[MessageTemplate])> {
        match self.variants.as_slice() {
            [] if !self.columns.is_empty() => Vec::new(),
            [] => vec![(None, &self.target, &self.messages)],
            all => all.iter().map(|one| (Some(one.name.as_str()), &one.target, one.messages.as_slice())).collect(),
        }
    }

    /// Every target there is, with the column it fills.
    pub fn targets(&self) -> impl Iterator<Item = (Option<&str>, &Component)> {
        let asked = self.asked().into_iter().map(|(_, target, _)| (None, target));
        let columns = self.columns.iter();
        asked.chain(columns.filter_map(|column| Some((Some(column.name.as_str()), column.target()?.0))))
    }

    /// Every evaluator, columns first.
    pub fn all_evaluators(&self) -> impl Iterator<Item = &NamedComponent> {
        self.columns.iter().filter_map(ColumnSpec::evaluator).chain(&self.evaluators)
    }

    pub fn items_per_row(&self) -> usize {
        self.trials as usize * self.variants.len().max(1)
    }
}

/// `callback:` as it is frozen (E28): a webhook of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    pub url: String,
    /// A reference to the secret that signs.
    pub secret: String,
    /// Topics; by default results and the states of runs.
    #[serde(default = "Callback::usual_events")]
    pub events: Vec<String>,
}

impl Callback {
    fn usual_events() -> Vec<String> {
        vec!["items.archived".to_owned(), "run.*".to_owned()]
    }
}

/// `row:` as it is frozen: templates over the fields of a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RowTemplates {
    /// Items with the same resource never run together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// 1 (highest) to 9 (lowest).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// A time before which the items do not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
}

impl RowTemplates {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn once() -> u32 {
    1
}

fn is_once(trials: &u32) -> bool {
    *trials == 1
}
