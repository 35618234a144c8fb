//! What a target's or evaluator's configuration can be asked before anything runs: which of its
//! fields are templates, and what is wrong with it beyond its types.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::environment::Environment;
use crate::job_file::Section;
use crate::report::Problems;

/// Implemented by the structure that a section of the job file is read into.
pub trait Config: Serialize + DeserializeOwned {
    /// Fields that are templates, with their text.
    fn templates(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// Top-level fields every row (or turn) must have.
    fn row_fields(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    fn check(&self, _environment: &Environment) -> Vec<Finding> {
        Vec::new()
    }
}

/// Something `check` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Problem { field: &'static str, message: String, help: String },
    Warning(String),
}

impl Finding {
    pub fn problem(field: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Problem { field, message: message.into(), help: help.into() }
    }
}

/// A configuration that was read; what is still to be checked against the dataset.
#[derive(Debug, Clone)]
pub struct Checked {
    pub config: Value,
    pub templates: Vec<(&'static str, String)>,
    pub row_fields: Vec<(&'static str, String)>,
    pub warnings: Vec<String>,
}

/// How a registry holds [`read`].
pub type Read = fn(&Section, &[&str], &Environment, &mut Problems) -> Option<Checked>;

/// Reads a section as `C`. The registries hold one instance per component.
pub fn read<C: Config>(
    section: &Section,
    also: &[&str],
    environment: &Environment,
    problems: &mut Problems,
) -> Option<Checked> {
    let config: C = section.read(also, problems)?;
    let mut warnings = Vec::new();
    for finding in config.check(environment) {
        match finding {
            Finding::Problem { field, message, help } => {
                problems.add(section.span_of(field), format!("`{}.{field}`: {message}", section.path), help);
            }
            Finding::Warning(warning) => warnings.push(warning),
        }
    }
    Some(Checked {
        templates: owned(config.templates()),
        row_fields: owned(config.row_fields()),
        config: serde_json::to_value(&config).expect("a configuration serialises to JSON"),
        warnings,
    })
}

fn owned(pairs: Vec<(&'static str, &str)>) -> Vec<(&'static str, String)> {
    pairs.into_iter().map(|(field, text)| (field, text.to_owned())).collect()
}
