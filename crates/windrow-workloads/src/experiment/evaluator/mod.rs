//! What an experiment measures. An evaluator is one file here and one line in [`EVALUATORS`]; it
//! returns a verdict with a value and a reason, and never confuses its own trouble with a low score.

mod exact;
mod regex;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use windrow_model::step::{ContentKey, Usage, Verdict};
use windrow_model::{ErrorClass, Failure};

use super::component;
use super::spec::NamedComponent;
use crate::canonical::canonical;

pub struct EvaluatorKind {
    pub name: &'static str,
    /// Raised when the same configuration begins to judge differently; old findings then stop
    /// being reused.
    version: u32,
    pub read: component::Read,
    build: fn(Value) -> Result<Box<dyn Evaluator>, Failure>,
}

pub const EVALUATORS: &[EvaluatorKind] = &[
    EvaluatorKind {
        name: "exact",
        version: 1,
        read: component::read::<exact::ExactConfig>,
        build: exact::Exact::build,
    },
    EvaluatorKind {
        name: "regex",
        version: 1,
        read: component::read::<regex::RegexConfig>,
        build: regex::RegexMatch::build,
    },
];

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub output: &'a str,
    /// What the evaluator asked for with [`Evaluator::expected`].
    pub expected: Option<&'a str>,
}

#[async_trait]
pub trait Evaluator: Send + Sync {
    /// Whether judging costs something, so that its intent is recorded before it.
    fn is_paid(&self) -> bool {
        false
    }

    /// What the output is compared with, from the turn's variables. An error becomes the verdict
    /// `error`: it says nothing about the output.
    fn expected(&self, _variables: &minijinja::Value) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// A failure fails the item's try; an evaluator that can say why returns [`Finding::error`].
    async fn judge(&self, subject: Subject<'_>) -> Result<(Finding, Usage), Failure>;
}

/// The outcome of one evaluation, as it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub verdict: Verdict,
    pub value: Option<f64>,
    pub reason: String,
}

impl Finding {
    /// 1 for a pass, 0 for a fail.
    pub fn binary(pass: bool, reason: impl Into<String>) -> Self {
        let (verdict, value) = if pass { (Verdict::Pass, 1.0) } else { (Verdict::Fail, 0.0) };
        Self { verdict, value: Some(value), reason: reason.into() }
    }

    pub fn error(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Error, value: None, reason: reason.into() }
    }
}

/// An evaluator of a program: built, named, and identified for its content keys.
pub struct Bound {
    pub name: String,
    identity: String,
    pub evaluator: Box<dyn Evaluator>,
}

impl Bound {
    pub fn new(component: NamedComponent) -> Result<Self, Failure> {
        let NamedComponent { name, kind, config } = component;
        let found = find(&kind).ok_or_else(|| {
            let message = format!("this version has no evaluator `{kind}`; use a newer one");
            Failure::new(ErrorClass::InvalidRequest, message)
        })?;
        // Without the name: renaming a column does not compute it again.
        let identity = canonical(&json!({ "kind": kind, "version": found.version, "config": config }));
        Ok(Self { name, identity, evaluator: (found.build)(config)? })
    }

    pub fn key(&self, subject: Subject<'_>) -> ContentKey {
        let expected = subject.expected.map_or_else(|| "null".to_owned(), |text| json!(text).to_string());
        ContentKey::of(&[b"evaluator", self.identity.as_bytes(), subject.output.as_bytes(), expected.as_bytes()])
    }
}

pub fn find(name: &str) -> Option<&'static EvaluatorKind> {
    EVALUATORS.iter().find(|kind| kind.name == name)
}

fn thaw<C: DeserializeOwned>(config: Value) -> Result<C, Failure> {
    serde_json::from_value(config).map_err(|error| unfit(&error.to_string()))
}

fn unfit(reason: &str) -> Failure {
    let message = format!("the frozen evaluator does not fit this version: {reason}; submit the job file again");
    Failure::new(ErrorClass::InvalidRequest, message)
}

/// Text for a reason: quoted, and not longer than a person wants to read.
fn quote(text: &str) -> String {
    const SHOWN: usize = 120;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
