//! `command:` and `python:` in a job file: what is run, and what it may take. The files that are
//! run are frozen by their content, so that a changed script is another evaluator.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::{Environment, has_reference};
use windrow_jobfile::job_file::Section;
use windrow_jobfile::size::Size;

use crate::definition::component::{self, Checked, Config, Issue, LoadContext};

/// What is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    Command(CommandConfig),
    Python(PythonConfig),
}

/// One of the two ways to say what is run.
pub trait Kind: Config {
    /// `function` is the one that is called where the job file names none.
    fn launch(self, function: &str) -> Launch;
    /// Files it is made of, with the field that names each.
    fn files(&self) -> Vec<(&'static str, &str)>;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandConfig {
    /// The program and its arguments.
    pub run: Vec<String>,
}

impl Config for CommandConfig {
    fn check(&self, _environment: &Environment) -> Vec<Issue> {
        let nothing = self.run.first().is_none_or(|program| program.trim().is_empty());
        let problem = || Issue::problem("run", "names no program", "for example: run: [python3, check.py]");
        nothing.then(problem).into_iter().collect()
    }
}

impl Kind for CommandConfig {
    fn launch(self, _function: &str) -> Launch {
        Launch::Command(self)
    }

    fn files(&self) -> Vec<(&'static str, &str)> {
        self.run.iter().map(|part| ("run", part.as_str())).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonConfig {
    pub file: String,
    #[serde(default)]
    pub function: Option<String>,
    #[serde(default = "interpreter")]
    pub interpreter: String,
}

fn interpreter() -> String {
    "python3".to_owned()
}

impl Config for PythonConfig {}

impl Kind for PythonConfig {
    fn launch(mut self, function: &str) -> Launch {
        self.function.get_or_insert_with(|| function.to_owned());
        Launch::Python(self)
    }

    fn files(&self) -> Vec<(&'static str, &str)> {
        vec![("file", &self.file)]
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Processes that stay and are given one line per item.
    #[default]
    Persistent,
    /// A process per item.
    Once,
}

/// How it is run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    #[serde(default)]
    pub mode: Mode,
    /// Processes at a time; as many as there are cores where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    #[serde(default = "max_output")]
    pub max_output: Size,
    /// What the process has in its environment beside PATH, HOME and LANG.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Further files whose change makes it another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

const LIMIT_FIELDS: &[&str] = &["mode", "workers", "timeout", "memory", "max_output", "env", "files"];
const MAX_WORKERS: usize = 1024;

fn max_output() -> Size {
    Size::mebibytes(1)
}

impl Config for Limits {
    fn check(&self, environment: &Environment) -> Vec<Issue> {
        let mut issues = Vec::new();
        if self.workers.is_some_and(|workers| !(1..=MAX_WORKERS).contains(&workers)) {
            let message = format!("must be 1 to {MAX_WORKERS}");
            issues.push(Issue::problem("workers", message, "for example: workers: 4"));
        }
        if self.timeout.is_some_and(|timeout| timeout.ms == 0) {
            issues.push(Issue::problem("timeout", "must be more than 0", "for example: timeout: 10s"));
        }
        for (name, value) in self.env.iter().filter(|(_, value)| has_reference(value)) {
            if let Err(error) = environment.resolve_secret(value) {
                let help = format!("set it before running, or remove `{name}`");
                issues.push(Issue::problem("env", format!("`{name}`: {error}"), help));
            }
        }
        issues
    }
}

/// Fields of the component that runs the process.
pub trait Own: Config {
    const FIELDS: &'static [&'static str];
    /// The Python function that is called where the job file names none.
    const FUNCTION: &'static str;
}

/// What a run needs to start it anywhere on this machine, and what its results depend on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen<O> {
    pub launch: Launch,
    pub limits: Limits,
    /// Where it runs: the folder of the job file.
    pub folder: PathBuf,
    /// Content of each file by its path.
    pub contents: BTreeMap<String, String>,
    pub own: O,
}

pub fn read<K: Kind, O: Own>(
    section: &Section,
    also: &[&str],
    context: LoadContext<'_>,
    problems: &mut Problems,
) -> Option<Checked> {
    let mut kind = section.clone();
    let (limits, own) = (kind.split(LIMIT_FIELDS), kind.split(O::FIELDS));
    let also = [also, LIMIT_FIELDS, O::FIELDS].concat();
    let kind_read = component::read::<K>(&kind, &also, context, problems);
    let limits_read = component::read::<Limits>(&limits, &[], context, problems);
    let own_read = component::read::<O>(&own, &[], context, problems);
    let (kind_config, limits, own) = (thaw::<K>(kind_read?), limits_read?, own_read?);
    let limits_config: Limits = thaw(limits.clone());
    let folder = context.folder;
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.to_owned());

    let mut contents = BTreeMap::new();
    let extra = limits_config.files.iter().map(|file| ("files", file.as_str()));
    for (field, file) in kind_config.files().into_iter().chain(extra) {
        match content_of(&folder, file) {
            Ok(hash) => drop(contents.insert(file.to_owned(), hash)),
            // Any word of a command may be a file; only what must be one is missed.
            Err(_) if field == "run" => {}
            Err(error) => {
                let message = format!("`{}.{field}`: {file} cannot be read: {error}", section.path);
                problems.add(section.span_of(field), message, "correct the path; it is relative to the job file");
            }
        }
    }
    let frozen =
        Frozen { launch: kind_config.launch(O::FUNCTION), limits: limits_config, folder, contents, own: own.config };
    let config = serde_json::to_value(frozen).expect("a configuration serialises to JSON");
    let warnings = [limits.warnings, own.warnings].concat();
    Some(Checked { config, templates: own.templates, row_fields: own.row_fields, warnings })
}

/// A configuration that was read a moment ago, back as its structure.
fn thaw<C: Config>(checked: Checked) -> C {
    serde_json::from_value(checked.config).expect("a configuration survives freezing")
}

/// The hash of what a file holds.
pub fn content_of(folder: &Path, file: &str) -> std::io::Result<String> {
    let path = folder.join(file);
    if !path.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "file not found"));
    }
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut std::fs::File::open(path)?, &mut hasher)?;
    Ok(hasher.finalize().to_hex().to_string())
}
