//! What an experiment measures. An evaluator is one file here and one line in [`EVALUATORS`]; it
//! returns a verdict with a value and a reason, and never confuses its own trouble with a low score.

mod bleu;
mod bound;
mod case;
mod choice;
mod chrf;
mod code;
mod contains;
mod embedding;
mod graded;
mod jaro_winkler;
mod json_path;
mod json_schema;
mod judge;
mod label;
mod levenshtein;
mod limit;
mod ngram;
mod not;
mod numeric;
mod page;
mod pairwise;
mod refusal;
mod regex;
mod rouge;
mod text_match;
mod tool_calls;
mod weighted;
mod worker;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::spec::{self, thaw_config};
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::step::{Usage, Verdict};
use windrow_model::workload::Halt;

use crate::calls::Calls;
use crate::context::ComponentContext;
use crate::definition::component::{self, read};
use crate::process;
use crate::target::worker::WorkerConfig;
use bleu::Bleu;
pub use bound::Bound;
pub use case::Case;
pub use choice::chosen;
use chrf::Chrf;
use code::{Code, CodeConfig};
use graded::GradedConfig;
use jaro_winkler::JaroWinkler;
use levenshtein::Levenshtein;
use limit::{Cost, Latency, LimitConfig, Tokens};
pub use page::page;
use text_match::TextMatchConfig;

/// An evaluator's part of `docs/evaluators.md`.
#[derive(Debug, Clone, Copy)]
pub struct Doc {
    /// Ends the sentence "passes when the output …".
    pub passes: &'static str,
    /// What values it gives.
    pub value: &'static str,
    /// Fields and examples, in Markdown. Every example is loaded by a test.
    pub text: &'static str,
}

pub struct EvaluatorKind {
    pub name: &'static str,
    /// Raised when the same configuration begins to judge differently; old findings then stop
    /// being reused.
    version: u32,
    pub read: component::Read,
    build: Build,
    pub doc: Doc,
}

type Build = fn(Value, &ComponentContext) -> Result<Box<dyn Evaluator>, Failure>;

impl EvaluatorKind {
    const fn new(name: &'static str, version: u32, doc: Doc, read: component::Read, build: Build) -> Self {
        Self { name, version, read, build, doc }
    }
}

pub const EVALUATORS: &[EvaluatorKind] = &[
    EvaluatorKind::new("exact", 1, text_match::EXACT, read::<TextMatchConfig>, text_match::build_exact),
    EvaluatorKind::new("contains", 1, contains::DOC, read::<contains::ContainsConfig>, contains::Contains::build),
    EvaluatorKind::new(
        "starts_with",
        1,
        text_match::STARTS_WITH,
        read::<TextMatchConfig>,
        text_match::build_starts_with,
    ),
    EvaluatorKind::new("regex", 1, regex::DOC, read::<regex::RegexConfig>, regex::RegexMatch::build),
    EvaluatorKind::new("refusal", 1, refusal::DOC, read::<refusal::RefusalConfig>, refusal::Refusal::build),
    EvaluatorKind::new("numeric", 1, numeric::DOC, read::<numeric::NumericConfig>, numeric::Numeric::build),
    EvaluatorKind::new(
        "json_schema",
        1,
        json_schema::DOC,
        read::<json_schema::JsonSchemaConfig>,
        json_schema::JsonSchema::build,
    ),
    EvaluatorKind::new(
        "json_path",
        1,
        json_path::DOC,
        read::<json_path::JsonPathConfig>,
        json_path::JsonPathEquality::build,
    ),
    EvaluatorKind::new(
        "levenshtein",
        1,
        levenshtein::DOC,
        read::<GradedConfig<Levenshtein>>,
        graded::build::<Levenshtein>,
    ),
    EvaluatorKind::new(
        "jaro_winkler",
        1,
        jaro_winkler::DOC,
        read::<GradedConfig<JaroWinkler>>,
        graded::build::<JaroWinkler>,
    ),
    EvaluatorKind::new("bleu", 1, bleu::DOC, read::<GradedConfig<Bleu>>, graded::build::<Bleu>),
    EvaluatorKind::new("chrf", 1, chrf::DOC, read::<GradedConfig<Chrf>>, graded::build::<Chrf>),
    EvaluatorKind::new("rouge", 1, rouge::DOC, read::<rouge::RougeConfig>, rouge::build),
    EvaluatorKind::new("judge", 1, judge::DOC, judge::asking::read::<judge::JudgeConfig>, judge::Judge::build),
    EvaluatorKind::new(
        "pairwise",
        1,
        pairwise::DOC,
        judge::asking::read::<pairwise::PairwiseConfig>,
        pairwise::Pairwise::build,
    ),
    EvaluatorKind::new("embedding", 1, embedding::DOC, embedding::read, embedding::Embedding::build),
    EvaluatorKind::new("label", 1, label::DOC, read::<label::LabelConfig>, label::Label::build),
    EvaluatorKind::new(
        "tool_calls",
        1,
        tool_calls::DOC,
        read::<tool_calls::ToolCallsConfig>,
        tool_calls::ToolCalls::build,
    ),
    EvaluatorKind::new("latency", 1, limit::LATENCY, read::<LimitConfig<Latency>>, limit::build::<Latency>),
    EvaluatorKind::new("cost", 1, limit::COST, read::<LimitConfig<Cost>>, limit::build::<Cost>),
    EvaluatorKind::new("tokens", 1, limit::TOKENS, read::<LimitConfig<Tokens>>, limit::build::<Tokens>),
    EvaluatorKind::new("command", 1, code::COMMAND, process::read::<process::CommandConfig, CodeConfig>, Code::build),
    EvaluatorKind::new("python", 1, code::PYTHON, process::read::<process::PythonConfig, CodeConfig>, Code::build),
    EvaluatorKind::new("worker", 1, worker::DOC, read::<WorkerConfig>, worker::Worker::build),
    EvaluatorKind::new("not", 1, not::DOC, not::read, not::Not::build),
    EvaluatorKind::new("weighted", 1, weighted::DOC, weighted::read, weighted::Weighted::build),
];

/// What is judged: all that a finding may depend on. It is recorded, and it is what the content key
/// of the evaluation is made of.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub output: &'a str,
    /// What the evaluator asked for with [`Evaluator::expected`].
    pub expected: Option<&'a str>,
    /// What it asked for with [`Evaluator::evidence`].
    pub evidence: Option<&'a Value>,
}

#[cfg(test)]
impl<'a> Subject<'a> {
    pub fn new(output: &'a str, expected: Option<&'a str>) -> Self {
        Self { output, expected, evidence: None }
    }
}

#[async_trait]
pub trait Evaluator: Send + Sync {
    /// What of the configuration shapes the finding, where it is not all of it.
    fn identity(&self) -> Option<Value> {
        None
    }

    /// What the output is compared with, from the turn's variables. An error becomes the verdict
    /// `error`: it says nothing about the output.
    fn expected(&self, _variables: &minijinja::Value) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// What else is looked at beside the output: latency, tool calls, the conversation, the row.
    fn evidence(&self, _case: &Case<'_>) -> Result<Option<Value>, String> {
        Ok(None)
    }

    /// The evaluators this one is made of.
    fn parts(&self) -> &[Bound] {
        &[]
    }

    /// Whether it runs code of the user, which may take long and change something: its intent is recorded first.
    fn runs_code(&self) -> bool {
        self.parts().iter().any(|part| part.evaluator.runs_code())
    }

    /// Whatever costs goes through `calls`. A failure is tried again as the job's retry policy says,
    /// and then becomes the verdict `error`.
    async fn judge(&self, subject: Subject<'_>, calls: &Calls<'_>) -> Result<Evaluation, Halt>;
}

/// The outcome of one evaluation, as it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub verdict: Verdict,
    pub value: Option<f64>,
    pub reason: String,
    /// What the evaluator's calls used up; it stands in their steps as well.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub usage: Usage,
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}

impl Evaluation {
    pub fn new(verdict: Verdict, value: Option<f64>, reason: impl Into<String>) -> Self {
        Self { verdict, value, reason: reason.into(), usage: Usage::default() }
    }

    /// 1 for a pass, 0 for a fail.
    pub fn binary(pass: bool, reason: impl Into<String>) -> Self {
        let (verdict, value) = if pass { (Verdict::Pass, 1.0) } else { (Verdict::Fail, 0.0) };
        Self::new(verdict, Some(value), reason)
    }

    /// A value from 0 to 1 that passes from `threshold` on.
    pub fn graded(value: f64, threshold: f64, reason: impl Into<String>) -> Self {
        let verdict = if value >= threshold { Verdict::Pass } else { Verdict::Fail };
        Self::new(verdict, Some(value), reason)
    }

    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Skipped, None, reason)
    }

    pub fn error(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Error, None, reason)
    }
}

pub fn find(name: &str) -> Option<&'static EvaluatorKind> {
    EVALUATORS.iter().find(|kind| kind.name == name)
}

fn thaw<C: DeserializeOwned>(config: Value) -> Result<C, Failure> {
    thaw_config("evaluator", config)
}

fn unfit(reason: &str) -> Failure {
    spec::unfit("evaluator", reason)
}

fn template(text: &str) -> Result<Template, Failure> {
    Template::new(text).map_err(|error| unfit(&error.message))
}

fn rendered(template: &Template, variables: &minijinja::Value) -> Result<String, String> {
    template.render(variables).map_err(|error| error.message)
}

/// What is wrong with a threshold that is compared with values from 0 to 1.
fn check_threshold(threshold: f64) -> Option<component::Issue> {
    let fits = (0.0..=1.0).contains(&threshold);
    (!fits).then(|| component::Issue::problem("threshold", "must be from 0 to 1", "for example: threshold: 0.8"))
}

/// Text for a reason: quoted, and not longer than a person wants to read.
fn quote(text: &str) -> String {
    const SHOWN: usize = 120;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// For evaluators that call nothing.
#[cfg(test)]
fn no_calls() -> Calls<'static> {
    Calls::new(&crate::calls::NoJournal, "test", 0, 1)
}
