//! Records what another target answers, once per call, and answers from the record: reruns cost
//! nothing and need no network.

mod tape;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::{ErrorClass, Failure, Json};

use super::{Answer, Collected, ComponentContext, Later, Question, Target, build, thaw};
use crate::definition::component::Component;
use crate::definition::component::{Checked, LoadContext};
use crate::target::chosen;
use tape::{Line, Tape};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::http_client::failure::shorten;
use windrow_jobfile::job_file::Section;

windrow_model::vocabulary! {
    /// What is called and what is taken from the record.
    pub enum Mode {
        #[doc = "Call, and record; what was recorded before is replaced."]
        Record = "record",
        #[doc = "Call nothing; what is not recorded is an error."]
        Replay = "replay",
        #[doc = "Take what is recorded; call and record the rest."]
        Auto = "auto",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default = "default_mode")]
    mode: Mode,
    file: PathBuf,
}

fn default_mode() -> Mode {
    Mode::Auto
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frozen {
    mode: Mode,
    file: PathBuf,
    target: Component,
}

/// `replay: { mode: auto, file: calls.jsonl, target: { openai: { … } } }`.
pub fn read(section: &Section, also: &[&str], context: LoadContext<'_>, problems: &mut Problems) -> Option<Checked> {
    let mut section = section.clone();
    let target = section.require("target", "target: { openai: { model: … } }", problems);
    let own: Option<Own> = section.read(&[&["target"], also].concat(), problems);
    let (kind, config) = chosen(target?, &[], problems)?;
    let Own { mode, file } = own?;
    let environment = environment_for(mode, context.environment);
    let checked = kind.read(&config, &[], LoadContext { environment: &environment, ..context }, problems)?;
    let file = context.folder.join(file);
    if mode == Mode::Replay && !file.exists() {
        let help = "record the calls first: run it once with mode: auto";
        problems.add(section.span_of("file"), format!("file {} not found", file.display()), help);
    }
    let target = Component { kind: kind.name.to_owned(), config: checked.config };
    let frozen = Frozen { mode, file: absolute(&file), target };
    Some(Checked { config: serde_json::to_value(frozen).expect("a configuration serialises to JSON"), ..checked })
}

/// What is never called needs no key.
fn environment_for(mode: Mode, environment: &Environment) -> Environment {
    match mode {
        Mode::Replay => environment.with_stand_in("offline"),
        Mode::Record | Mode::Auto => environment.clone(),
    }
}

/// A run may be continued from another folder.
fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

pub struct Replay {
    mode: Mode,
    tape: Arc<Tape>,
    inner: Arc<dyn Target>,
}

impl Replay {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
        let Frozen { mode, file, target } = thaw(config)?;
        let context = ComponentContext { environment: environment_for(mode, &context.environment), ..context.clone() };
        let inner = build(&target.kind, target.config, &context)?;
        let tape = Tape::open(&file).map_err(|error| {
            Failure::new(ErrorClass::InvalidRequest, format!("{}: the recorded calls: {error}", file.display()))
        })?;
        Ok(Arc::new(Self { mode, tape, inner }))
    }

    /// From the record, if it is to be used and has it.
    async fn recorded(&self, key: &ContentKey, request: &Json) -> Result<Option<Line>, Failure> {
        if self.mode == Mode::Record {
            return Ok(None);
        }
        let found = self.tape.find(*key).await.map_err(|error| self.unreadable(&error))?;
        match found {
            None if self.mode == Mode::Replay => {
                let message = format!(
                    "{} has no recorded answer to {}; run it once with mode: auto",
                    self.tape.path().display(),
                    shorten(request.as_str(), 300)
                );
                Err(Failure::new(ErrorClass::InvalidRequest, message))
            }
            found => Ok(found),
        }
    }

    /// Nothing was paid this time; the tokens are those of then.
    fn used(line: &Line) -> Usage {
        Usage { cost_nanos: 0, ..line.used }
    }

    async fn keep(&self, key: &ContentKey, request: &Json, answer: Json, used: Usage) -> Result<(), Failure> {
        let line = Line { key: key.to_string(), request: request.clone(), answer, used };
        self.tape.append(*key, line).await.map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        Failure::new(ErrorClass::Handler, format!("{}: the recorded calls: {error}", self.tape.path().display()))
    }
}

#[async_trait]
impl Target for Replay {
    /// That of the target inside: steps serve with and without a recording.
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn is_paid(&self) -> bool {
        self.mode != Mode::Replay && self.inner.is_paid()
    }

    fn demand(&self, request: &Json) -> Option<Demand> {
        self.inner.demand(request)
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        self.inner.request(question)
    }

    async fn call(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure> {
        if let Some(line) = self.recorded(key, request).await? {
            let answer: Answer = line.answer.parse().map_err(|error| self.unreadable(&std::io::Error::other(error)))?;
            return Ok(Answer { used: Self::used(&line), ..answer });
        }
        let answer = self.inner.call(request, key).await?;
        self.keep(key, request, Json::of(&answer), answer.used).await?;
        Ok(answer)
    }

    fn later(&self) -> Option<&dyn Later> {
        self.inner.later().map(|_| self as &dyn Later)
    }
}

#[async_trait]
impl Later for Replay {
    async fn collect(&self, request: &Json, handed_in: &Answer, key: &ContentKey) -> Result<Collected, Failure> {
        let own = ContentKey::of(&[b"collected", &key.0]);
        if let Some(line) = self.recorded(&own, request).await? {
            let answer: Answer = line.answer.parse().map_err(|error| self.unreadable(&std::io::Error::other(error)))?;
            return Ok(Collected::Answer(Answer { used: Self::used(&line), ..answer }));
        }
        let Some(later) = self.inner.later() else {
            return Err(Failure::new(ErrorClass::InvalidRequest, "nothing is to be collected here"));
        };
        let collected = later.collect(request, handed_in, key).await?;
        if let Collected::Answer(answer) = &collected {
            self.keep(&own, request, Json::of(answer), answer.used).await?;
        }
        Ok(collected)
    }
}
