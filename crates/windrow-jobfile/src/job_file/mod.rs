//! From a file on disk to a job that can be submitted. Reads the YAML, finds the kind, and lets the
//! kind check the rest; either everything is in order or a report says all that is not.

mod base;
mod header;
pub mod plain_secrets;
mod read;
mod section;

use std::path::Path;

use windrow_model::Json;
use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits};
use windrow_model::rollout::Rollout;

use crate::dataset::{Library, StagedRows};
use crate::diagnostics::{About, Excerpt, Problem, Problems, Report, nearest};
use crate::environment::Environment;
use crate::yaml::Node;

pub use base::{Base, Depth};
pub use header::{FIELDS as HEADER_FIELDS, Header, check_name, is_capability};
pub use section::Section;

/// Reads the rest of a job file whose `kind` is known. `None` when problems were found.
pub type Loader = fn(Base<'_>, Section, &Environment, Option<&Library>, &mut Problems) -> Option<LoadedJob>;

/// One `kind` of job file.
pub struct Kind {
    pub name: &'static str,
    pub load: Loader,
    /// What its items do can be undone.
    pub rolls_back: bool,
}

/// A checked job file, ready to be submitted.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedJob {
    pub name: String,
    pub description: Option<String>,
    pub kind: &'static str,
    pub workspace: String,
    pub labels: Labels,
    pub priority: Priority,
    /// Concurrency and budget.
    pub limits: RunLimits,
    /// How its items are let go; `None`: all at once.
    pub rollout: Option<Rollout>,
    /// The schedule of the job, as a cron pattern.
    pub schedule: Option<String>,
    /// Only workers elsewhere that have this capability do its items.
    pub worker: Option<String>,
    /// The frozen definition: all that is needed to run, secrets as references only.
    pub spec: Json,
    /// Of the definition, not of the data: a dataset that grows keeps it.
    pub spec_hash: String,
    /// Items the source gives now, as far as it was read: its rows, times the trials of each.
    pub rows: u64,
    /// Rows that are part of the definition, to be stored before it.
    pub staged: Option<StagedRows>,
    pub warnings: Vec<String>,
}

/// Loads a job file of one of `kinds`, which may also name a dataset of the library. Blocks: reads the whole
/// dataset once to check it.
pub fn load_with(
    path: &Path,
    environment: &Environment,
    library: Option<&Library>,
    kinds: &[Kind],
) -> Result<LoadedJob, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{name}: the job file cannot be read: {error}");
        let problem = Problem::new(message, "check the path, and that the file is UTF-8 text");
        Report { about: About::JobFile, problems: vec![problem] }
    })?;
    load_text(Excerpt::whole(name, text), Base::of_file(path), environment, library, kinds)
}

/// A job file that is at hand as text and comes from `base`.
pub fn load_text(
    file: Excerpt,
    base: Base<'_>,
    environment: &Environment,
    library: Option<&Library>,
    kinds: &[Kind],
) -> Result<LoadedJob, Report> {
    let mut problems = Problems::in_file(file);
    let job = read_job(base, environment, library, kinds, &mut problems);
    match job {
        Some(job) if problems.is_empty() => Ok(job),
        _ => Err(problems.into_report()),
    }
}

/// The workspace that a job file names, before anything else of it is read.
pub fn workspace_named_in(text: &str) -> Option<String> {
    let mut root = Section::root(Node::parse(text).ok()?);
    root.take("workspace")?.text().map(str::to_owned)
}

fn read_job(
    base: Base<'_>,
    environment: &Environment,
    library: Option<&Library>,
    kinds: &[Kind],
    problems: &mut Problems,
) -> Option<LoadedJob> {
    let node = match Node::parse(problems.text()) {
        Ok(node) => node,
        Err(broken) => {
            let help = "correct the YAML here; often it is the indentation, a quote or a bracket just before";
            problems.add(broken.span, format!("this is not valid YAML: {}", broken.message), help);
            return None;
        }
    };
    let mut root = Section::root(node);
    if !root.is_map() {
        let message = format!("a job file is a map of fields, found {}", root.node.describe());
        problems.add(root.span, message, "start with `kind: experiment` and `name: …`");
        return None;
    }
    let kind = root.require("kind", "kind: experiment", problems)?;
    let names = kinds.iter().map(|kind| kind.name);
    let Some(found) = kinds.iter().find(|known| Some(known.name) == kind.text()) else {
        let given = kind.text().map_or_else(|| kind.node.describe().to_owned(), |text| format!("{text:?}"));
        let list = names.clone().collect::<Vec<_>>().join(", ");
        let help = match kind.text().and_then(|text| nearest(text, names)) {
            Some(meant) => format!("did you mean `{meant}`? The kinds are: {list}"),
            None => format!("the kinds are: {list}"),
        };
        problems.add(kind.node.span, format!("unknown kind {given}"), help);
        return None;
    };
    plain_secrets::check(&root.node, environment, problems);
    (found.load)(base, root, environment, library, problems)
}
