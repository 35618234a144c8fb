//! A target or evaluator as it is frozen, and what its configuration can be asked before anything runs: which of its
//! fields are templates, and what is wrong with it beyond its types.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;

/// A target or evaluator: which one, and its configuration as its own module wrote it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    pub kind: String,
    pub config: Value,
}

impl Component {
    pub fn is_none(&self) -> bool {
        self.kind.is_empty()
    }
}

/// Implemented by the structure that a section of the job file is read into.
pub trait Config: Serialize + DeserializeOwned {
    /// Fields that are templates, with their text.
    fn templates(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// Names its templates are given beside the fields of the row.
    fn given(&self) -> &'static [&'static str] {
        &[]
    }

    /// Top-level fields every row (or turn) must have.
    fn row_fields(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// Replaces the path of a file, relative to `folder`, by what the file holds, so that the
    /// frozen definition is whole.
    fn settle(&mut self, _folder: &Path) -> Vec<Issue> {
        Vec::new()
    }

    fn check(&self, _environment: &Environment) -> Vec<Issue> {
        Vec::new()
    }
}

/// Something `check` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Issue {
    Problem { field: &'static str, message: String, help: String },
    Warning(String),
}

impl Issue {
    pub fn problem(field: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Problem { field, message: message.into(), help: help.into() }
    }
}

/// Where a job file is read: what its references and paths mean.
#[derive(Debug, Clone, Copy)]
pub struct LoadContext<'a> {
    pub environment: &'a Environment,
    /// Of the job file.
    pub folder: &'a Path,
}

/// A text of the configuration and where it stands in the job file.
#[derive(Debug, Clone)]
pub struct Placed {
    pub path: String,
    pub span: Range<usize>,
    pub text: String,
    /// Names a template has without the row.
    pub given: &'static [&'static str],
}

/// A configuration that was read; what is still to be checked against the dataset.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    pub config: Value,
    pub templates: Vec<Placed>,
    pub row_fields: Vec<Placed>,
    pub warnings: Vec<String>,
}

/// How a registry holds [`read`].
pub type Read = fn(&Section, &[&str], LoadContext<'_>, &mut Problems) -> Option<Checked>;

/// Reads a section as `C`. The registries hold one instance per component.
pub fn read<C: Config>(
    section: &Section,
    also: &[&str],
    context: LoadContext<'_>,
    problems: &mut Problems,
) -> Option<Checked> {
    read_with(section, also, context, problems, C::check)
}

/// As [`read`], with another check.
pub fn read_with<C: Config>(
    section: &Section,
    also: &[&str],
    context: LoadContext<'_>,
    problems: &mut Problems,
    check: impl Fn(&C, &Environment) -> Vec<Issue>,
) -> Option<Checked> {
    let mut config: C = section.read(also, problems)?;
    let mut issues = config.settle(context.folder);
    // What could not be settled would only be reported twice.
    if issues.is_empty() {
        issues = check(&config, context.environment);
    }
    let mut warnings = Vec::new();
    for issue in issues {
        match issue {
            Issue::Problem { field, message, help } => {
                problems.add(section.span_of(field), format!("`{}.{field}`: {message}", section.path), help);
            }
            Issue::Warning(warning) => warnings.push(warning),
        }
    }
    Some(Checked {
        templates: placed(section, config.templates(), config.given()),
        row_fields: placed(section, config.row_fields(), &[]),
        config: serde_json::to_value(&config).expect("a configuration serialises to JSON"),
        warnings,
    })
}

fn placed(section: &Section, pairs: Vec<(&'static str, &str)>, given: &'static [&'static str]) -> Vec<Placed> {
    let place = |(field, text): (&str, &str)| Placed {
        path: format!("{}.{field}", section.path),
        span: section.span_of(field),
        text: text.to_owned(),
        given,
    };
    pairs.into_iter().map(place).collect()
}

/// A condition of the job file as a template: empty means no.
pub fn condition_template(condition: &str) -> String {
    format!("{{% if {condition} %}}yes{{% endif %}}")
}
