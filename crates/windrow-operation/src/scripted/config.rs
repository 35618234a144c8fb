//! The sections `action.http` and `action.command` of a job file, and how they are frozen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::template::{Template, TemplateError};
use windrow_jobfile::templated::{Templated, texts};

/// One call, either way it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CallConfig {
    Http(HttpCall),
    Command(CommandCall),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    pub url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandCall {
    pub run: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where it runs: the folder of the job file.
    #[serde(default)]
    pub folder: PathBuf,
}

windrow_model::vocabulary! {
    /// What to do about a call whose outcome is unknown and cannot be read back.
    pub enum Unknown {
        #[doc = "Fail the target; a person has to look."]
        Fail = "fail",
        #[doc = "Make it again; repeating does no harm."]
        Repeat = "repeat",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scripted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<CallConfig>,
    pub apply: CallConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<CallConfig>,
    /// Holds once the change is made; over `target`, `before` and `now`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// The fields that the change sets, to be shown by a plan and compared when the target is read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Names the target among all operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    #[serde(default = "fail")]
    pub unknown: Unknown,
}

fn fail() -> Unknown {
    Unknown::Fail
}

pub fn read_http(section: Section, folder: &Path, problems: &mut Problems) -> Option<Value> {
    read(section, folder, problems, "an `http` action calls URLs: apply: { method: PUT, url: … }", |call| {
        matches!(call, CallConfig::Http(_))
    })
}

pub fn read_command(section: Section, folder: &Path, problems: &mut Problems) -> Option<Value> {
    read(
        section,
        folder,
        problems,
        "a `command` action runs programs: apply: { run: [program, argument] }",
        |call| matches!(call, CallConfig::Command(CommandCall { run, .. }) if !run.is_empty()),
    )
}

fn read(
    section: Section,
    folder: &Path,
    problems: &mut Problems,
    example: &str,
    fits: impl Fn(&CallConfig) -> bool,
) -> Option<Value> {
    let mut config: Scripted = section.read(&[], problems)?;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let calls = [("read", config.read.as_mut()), ("apply", Some(&mut config.apply)), ("undo", config.undo.as_mut())];
    for (field, call) in calls.into_iter().filter_map(|(field, call)| Some((field, call?))) {
        if !fits(call) {
            let message = format!("`{}.{field}` does not fit this kind of call", section.path);
            problems.add(section.span_of(field), message, example);
        }
        if let CallConfig::Command(command) = call {
            if !command.folder.as_os_str().is_empty() {
                let message = format!(
                    "`{}.{field}.folder` has no effect: programs run in the folder of the job file",
                    section.path
                );
                problems.add(section.span_of(field), message, "leave it out");
            }
            command.folder = folder.clone();
        }
        if let Err(error) = check_templates(call) {
            problems.add(section.span_of(field), format!("`{}.{field}`: {}", section.path, error.message), TEMPLATES);
        }
    }
    let (done, lock) = (config.done.as_deref().map(condition), config.lock.clone());
    for (field, text) in [("done", done), ("lock", lock)] {
        if let Some(Err(error)) = text.as_deref().map(Template::new) {
            problems.add(section.span_of(field), format!("`{}.{field}`: {}", section.path, error.message), TEMPLATES);
        }
    }
    let needs_read = config.done.is_some() || config.after.is_some();
    if needs_read && config.read.is_none() {
        let message = format!("`{}` says how a changed target looks, but not how it is read", section.path);
        problems.add(section.span.clone(), message, "add `read`, a call that returns the current state of the target");
    }
    serde_json::to_value(config).ok()
}

const TEMPLATES: &str = "templates see `target`, `before` and `now`: {{ target.name }}";

fn check_templates(call: &CallConfig) -> Result<(), TemplateError> {
    match call {
        CallConfig::Http(http) => {
            http.headers.values().chain([&http.url]).try_for_each(|text| Template::new(text).map(drop))?;
            http.body.as_ref().map_or(Ok(()), |body| {
                texts(body).try_for_each(|text| Template::new(text).map(drop))?;
                Templated::new(body).map(drop)
            })
        }
        CallConfig::Command(command) => {
            command.run.iter().chain(command.env.values()).try_for_each(|text| Template::new(text).map(drop))
        }
    }
}

/// A template that says `true` where the condition holds. `now.ready` and `{{ now.ready }}` mean the same.
pub fn condition(text: &str) -> String {
    let bare = text.trim().strip_prefix("{{").and_then(|text| text.strip_suffix("}}")).unwrap_or(text);
    format!("{{% if {bare} %}}true{{% endif %}}")
}
