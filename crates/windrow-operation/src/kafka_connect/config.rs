//! The section `action.kafka-connect` of a job file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::templated::Templated;

use super::action::Do;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub url: String,
    #[serde(rename = "do")]
    pub action: Do,
    /// Keys of the configuration to set; null removes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Value>,
    /// As `PATCH /connectors/{name}/offsets` takes them. Of a move: whether its way back starts from the offsets of
    /// `now` or of `before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid: Option<String>,
    /// Another Connect cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The whole configuration of a connector to be created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How long it must run without failing to count as done.
    #[serde(default = "at_once")]
    pub steady: Duration,
}

impl Config {
    /// The way back of a move sends everything again that was read since.
    pub fn rewinds(&self) -> bool {
        self.offsets.as_ref().is_some_and(|offsets| offsets == BEFORE)
    }

    /// Fields that say something to this action, beside those of all.
    fn takes(&self) -> &'static [&'static str] {
        match self.to.is_some() && self.action.moves {
            true => &["to", "offsets"],
            false => self.action.takes,
        }
    }
}

const BEFORE: &str = "before";

fn at_once() -> Duration {
    Duration { ms: 0 }
}

pub fn read(section: Section, _folder: &Path, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    let given = [
        ("set", config.set.is_some()),
        ("offsets", config.offsets.is_some()),
        ("gtid", config.gtid.is_some()),
        ("to", config.to.is_some()),
        ("config", config.config.is_some()),
    ];
    if let Some((needed, example)) = config.action.needs
        && !given.iter().any(|(field, given)| *given && needed.contains(field))
    {
        let message = format!("`do: {}` needs `{}.{}`", config.action, section.path, needed[0]);
        problems.add(section.span_of("do"), message, format!("add it, for example: {example}"));
    }
    for (field, _) in given.iter().filter(|(field, given)| *given && !config.takes().contains(field)) {
        let message = format!("`{}.{field}` has no effect with `do: {}`", section.path, config.action);
        problems.add(section.span_of(field), message, "leave it out");
    }
    let moves = config.to.is_some();
    if moves && config.offsets.as_ref().is_some_and(|offsets| offsets != BEFORE && offsets != "now") {
        let message = format!("`{}.offsets` of a move is `now` or `before`", section.path);
        problems.add(section.span_of("offsets"), message, "write offsets: before to rewind on rollback");
    }
    for (field, given) in [("set", &config.set), ("config", &config.config)] {
        for (name, value) in given.as_ref().and_then(Value::as_object).into_iter().flatten() {
            let clear = value.as_str().is_some_and(|text| !windrow_jobfile::environment::has_reference(text));
            if clear && crate::mask::is_secret_name(name) {
                let message =
                    format!("`{}.{field}.{name}` is a password, which must not stand in a job file", section.path);
                problems.add(section.span_of(field), message, "write a reference: ${env:NAME} or ${secret:NAME}");
            }
        }
    }
    for url in [Some(&config.url), config.to.as_ref()].into_iter().flatten() {
        if !windrow_jobfile::environment::has_reference(url)
            && let Err(why) = windrow_jobfile::http_client::web_url(url)
        {
            problems.add(section.span_of("url"), why, "write the address of a Connect worker: http://worker:8083");
        }
    }
    for (field, value) in [("set", &config.set), ("offsets", &config.offsets), ("config", &config.config)] {
        if let Some(Err(error)) = value.as_ref().map(Templated::new) {
            let message = format!("`{}.{field}`: {}", section.path, error.message);
            problems.add(section.span_of(field), message, "templates see `target`: {{ target.name }}");
        }
    }
    serde_json::to_value(config).ok()
}
