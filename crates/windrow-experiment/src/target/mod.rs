//! What an experiment asks: a model, a service, or outputs recorded earlier. A target is one file
//! here and one line in [`OTHERS`].

mod account;
mod chat;
mod code;
mod http;
mod recorded;
mod rehearsed;
mod replay;
mod select;
pub mod worker;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::{ErrorClass, Failure, Json};

use crate::context::ComponentContext;
use crate::conversation::Conversation;
use crate::definition::component::{self, Checked, LoadContext};
use crate::definition::message::Message;
use crate::process;
use chat::{Chat, PROVIDERS, Provider, Settings};
pub use chat::{Embeddings, has_embeddings};
pub use select::{chosen, read_model};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::spec::thaw_config;

type Build = fn(Value, &ComponentContext) -> Result<Arc<dyn Target>, Failure>;

#[derive(Clone, Copy)]
pub struct TargetKind {
    pub name: &'static str,
    asked: Asked,
    component: Built,
}

#[derive(Clone, Copy)]
enum Built {
    /// A chat model.
    Model(&'static Provider),
    By(component::Read, Build),
}

/// What a target is asked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The job file must have a prompt.
    Messages,
    Row,
    /// As the target inside it is.
    AsInner,
}

impl TargetKind {
    const fn new(name: &'static str, asked: Asked, read: component::Read, build: Build) -> Self {
        Self { name, asked, component: Built::By(read, build) }
    }

    pub fn read(
        &self,
        section: &Section,
        also: &[&str],
        context: LoadContext<'_>,
        problems: &mut Problems,
    ) -> Option<Checked> {
        match self.component {
            Built::By(read, _) => read(section, also, context, problems),
            Built::Model(provider) => {
                let check = |settings: &Settings, environment: &Environment| settings.check(provider, environment);
                component::read_with(section, also, context, problems, check)
            }
        }
    }

    fn build(&self, config: Value, context: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
        match self.component {
            Built::By(_, build) => build(config, context),
            Built::Model(provider) => Chat::build(provider, config, context),
        }
    }

    /// Whether it is asked with messages, so that the job file must have a prompt.
    pub fn needs_prompt(&self, config: &Section) -> bool {
        match self.asked {
            Asked::Messages => true,
            Asked::Row => false,
            Asked::AsInner => {
                let Some(inner) = config.clone().take("target") else { return true };
                let kind = inner.field_names().into_iter().find_map(find);
                kind.is_none_or(|kind| inner.clone().take(kind.name).is_none_or(|config| kind.needs_prompt(&config)))
            }
        }
    }
}

/// Those that can play a judge or a user.
pub fn models() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().filter(|kind| kind.asked == Asked::Messages).map(|kind| kind.name)
}

pub static TARGETS: LazyLock<Vec<TargetKind>> = LazyLock::new(|| {
    let models = PROVIDERS.iter().map(|provider| TargetKind {
        name: provider.name,
        asked: Asked::Messages,
        component: Built::Model(provider),
    });
    models.chain(OTHERS.iter().copied()).collect()
});

const OTHERS: &[TargetKind] = &[
    TargetKind::new("http", Asked::Row, component::read::<http::HttpConfig>, http::Http::build),
    TargetKind::new(
        "command",
        Asked::Row,
        process::read::<process::CommandConfig, code::CodeConfig>,
        code::Code::build,
    ),
    TargetKind::new("python", Asked::Row, process::read::<process::PythonConfig, code::CodeConfig>, code::Code::build),
    TargetKind::new("recorded", Asked::Row, component::read::<recorded::RecordedConfig>, recorded::Recorded::build),
    TargetKind::new("worker", Asked::Row, component::read::<worker::WorkerConfig>, worker::Worker::build),
    TargetKind::new("replay", Asked::AsInner, replay::read, replay::Replay::build),
];

/// One question of one turn.
pub struct Question<'a> {
    pub messages: &'a [Message],
    pub conversation: &'a Conversation,
    pub turn: usize,
    /// From 1; repeats of a row are asked on their own.
    pub trial: u32,
}

#[async_trait]
pub trait Target: Send + Sync {
    /// Configuration that shapes the answer, as canonical JSON and without secrets.
    fn identity(&self) -> &str;
    /// Whether a call costs or does something, so that its intent is recorded before it.
    fn is_paid(&self) -> bool;
    /// What the request needs of a provider's limits; `None` where there is no provider.
    fn demand(&self, _request: &Json) -> Option<Demand> {
        None
    }
    /// The request as it is recorded and sent. Together with the identity it determines the answer.
    fn request(&self, question: &Question<'_>) -> Result<Json, Failure>;
    async fn call(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure>;
    /// Given by a target whose `call` only hands work in, and whose answer comes later.
    fn later(&self) -> Option<&dyn Later> {
        None
    }
}

/// The second half of a target that answers later. A step of its own: handing in costs and must not
/// be repeated, waiting is harmless and may be, so a crash between them must leave them apart.
#[async_trait]
pub trait Later: Send + Sync {
    /// Waits for the answer to what was handed in under `key`. An error leaves it handed in: the next
    /// attempt waits again.
    async fn collect(&self, request: &Json, handed_in: &Answer, key: &ContentKey) -> Result<Collected, Failure>;
}

/// The outcome of what was handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collected {
    Answer(Answer),
    /// It will never be answered; the next attempt hands it in again.
    Lost(Failure),
}

/// What a target said. Recorded whole, so that a reused step yields the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default)]
    pub latency_ms: i64,
    /// When the first word came; only known of a streamed answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<i64>,
    /// The model declined; `content` is how.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refusal: bool,
    /// `[{"id", "type": "function", "function": {"name", "arguments"}}]`, whatever the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Json>,
    /// Token counts as the provider wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Json>,
    #[serde(skip)]
    pub used: Usage,
}

impl Answer {
    /// Adds what another answer of the same conversation took and called.
    pub fn add(&mut self, other: &Answer) {
        self.latency_ms += other.latency_ms;
        self.used += other.used;
        let list = |calls: &Option<Json>| calls.as_ref().and_then(|calls| calls.parse::<Vec<Value>>().ok());
        if let Some(more) = list(&other.tool_calls) {
            self.tool_calls = Some(Json::of(&[list(&self.tool_calls).unwrap_or_default(), more].concat()));
        }
    }
}

pub fn find(name: &str) -> Option<&'static TargetKind> {
    TARGETS.iter().find(|kind| kind.name == name)
}

pub fn build(kind: &str, config: Value, context: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
    let found = find(kind).ok_or_else(|| {
        Failure::new(ErrorClass::InvalidRequest, format!("this version has no target `{kind}`; use a newer one"))
    })?;
    let Some(rehearsal) = &context.rehearsal else { return found.build(config, context) };
    let part = rehearsed::Part::new(kind, &config, context);
    Ok(Arc::new(rehearsed::Rehearsed::new(found.build(config, context)?, part, rehearsal.clone())))
}

/// Whether calls of a component are paid by the token, so that a missing price matters. What runs on
/// this machine costs nothing.
pub fn has_price(kind: &str, config: &Value) -> bool {
    let provider = PROVIDERS.iter().find(|provider| provider.name == kind);
    provider.is_some_and(|provider| {
        !windrow_jobfile::http_client::is_loopback(config["base_url"].as_str().unwrap_or(provider.base_url))
    })
}

/// A frozen configuration back as its structure.
fn thaw<C: serde::de::DeserializeOwned>(config: Value) -> Result<C, Failure> {
    thaw_config("target", config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_is_a_target() {
        for provider in PROVIDERS {
            assert!(find(provider.name).is_some(), "{}", provider.name);
        }
        let mut names: Vec<_> = TARGETS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TARGETS.len());
    }

    #[test]
    fn every_target_has_its_place_in_the_docs() {
        let page = include_str!("../../../../docs/targets.md");
        for kind in TARGETS.iter() {
            assert!(page.contains(&format!("`{}`", kind.name)), "docs/targets.md says nothing of `{}`", kind.name);
        }
    }
}
