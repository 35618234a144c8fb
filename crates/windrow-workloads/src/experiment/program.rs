//! A prepared experiment: pages its dataset and does one row, turn by turn (E18). Everything that
//! can be compiled was compiled when the run was prepared.

use std::sync::Arc;

use async_trait::async_trait;
use minijinja::value::Value;

use windrow_model::retry::RetryPolicy;
use windrow_model::step::{ContentKey, OnUnknown, Score, StepIntent};
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, WorkItem};
use windrow_model::{ErrorClass, Failure, Json};

use super::conversation::Conversation;
use super::evaluator::{Bound, Finding, Subject};
use super::message::{Message, Prompt, Role};
use super::spec::ExperimentSpec;
use super::step::perform;
use super::target::{self, Answer, Question, Setting, Target};
use crate::dataset::{Library, Pager, Reading};
use crate::duration::Duration;
use crate::environment::Environment;

pub struct Experiment {
    pager: Pager,
    reading: Reading,
    prompt: Prompt,
    target: Arc<dyn Target>,
    evaluators: Vec<Bound>,
    retry: RetryPolicy,
    timeout_ms: i64,
}

impl Experiment {
    pub fn prepare(spec: ExperimentSpec, environment: Environment, library: Option<Library>) -> Result<Self, Failure> {
        // A little under the item's own limit, so that a call that takes too long is still recorded.
        let timeout = Duration { ms: spec.timeout_ms - (spec.timeout_ms / 20).min(1000) };
        let setting = Setting { environment, timeout };
        Ok(Self {
            pager: Pager::new(spec.dataset.source, library),
            reading: spec.dataset.reading,
            prompt: Prompt::new(&spec.messages).map_err(|error| invalid(error.message))?,
            target: target::build(&spec.target.kind, spec.target.config, &setting)?,
            evaluators: spec.evaluators.into_iter().map(Bound::new).collect::<Result<_, _>>()?,
            retry: spec.retry,
            timeout_ms: spec.timeout_ms,
        })
    }

    /// Asks the target; the question and the answer join the history.
    async fn ask(
        &self,
        conversation: &Conversation,
        turn: usize,
        variables: &Value,
        history: &mut Vec<Message>,
        journal: &dyn Journal,
    ) -> Result<Answer, Halt> {
        let messages = self.prompt.render(variables, history).map_err(|error| invalid(error.message))?;
        let request = self.target.request(&Question { messages: &messages, conversation, turn })?;
        let key = ContentKey::of(&[b"target", self.target.identity().as_bytes(), request.as_str().as_bytes()]);
        let intent = intent(key, "target", String::new(), turn, request.clone());
        let call = async {
            let answer = self.target.call(&request, &key).await?;
            Ok((Json::of(&answer), answer.used))
        };
        let (output, used) = perform(journal, intent, self.target.is_paid(), call).await?;
        let mut answer: Answer = output.parse().map_err(|error| {
            Failure::new(ErrorClass::InvalidOutput, format!("the recorded answer cannot be read: {error}"))
        })?;
        answer.used = used;
        history.push(Message { role: Role::Assistant, content: answer.content.clone() });
        Ok(answer)
    }

    async fn judge(
        &self,
        bound: &Bound,
        output: &str,
        variables: &Value,
        turn: usize,
        journal: &dyn Journal,
        done: &mut Done,
    ) -> Result<(), Halt> {
        let finding = match bound.evaluator.expected(variables) {
            Err(reason) => Finding::error(format!("what to expect cannot be said: {reason}")),
            Ok(expected) => {
                let subject = Subject { output, expected: expected.as_deref() };
                let input = Json::of(&serde_json::json!({ "output": output, "expected": expected }));
                let intent = intent(bound.key(subject), "evaluator", bound.name.clone(), turn, input);
                let judging = async {
                    let (finding, used) = bound.evaluator.judge(subject).await?;
                    Ok((Json::of(&finding), used))
                };
                let (output, used) = perform(journal, intent, bound.evaluator.is_paid(), judging).await?;
                done.usage += used;
                output.parse().unwrap_or_else(|error| Finding::error(format!("the recorded finding is bad: {error}")))
            }
        };
        let Finding { verdict, value, reason } = finding;
        done.scores.push(Score { name: bound.name.clone(), turn: turn as u32, verdict, value, reason });
        Ok(())
    }
}

#[async_trait]
impl Program for Experiment {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        self.pager.page(cursor, limit).await
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        if item.rollback {
            return Err(invalid("an experiment changes nothing and cannot be rolled back").into());
        }
        let row = item.input.parse().map_err(|error| invalid(format!("the row is not a JSON object: {error}")))?;
        let row =
            self.reading.read(row).map_err(|why| invalid(format!("the row is not of the dataset's shape: {why}")))?;
        let conversation = Conversation::of(row).map_err(invalid)?;
        let mut history = Vec::new();
        let mut done = Done::default();
        for turn in 0..conversation.len() {
            let variables = Value::from_object(conversation.variables(turn, &history));
            let answer = self.ask(&conversation, turn, &variables, &mut history, journal).await?;
            done.usage += answer.used;
            done.latency_ms += answer.latency_ms;
            for bound in &self.evaluators {
                self.judge(bound, &answer.content, &variables, turn, journal, &mut done).await?;
            }
            if turn + 1 < conversation.len() {
                journal.hand_in_partial(done.scores.clone()).await?;
            }
        }
        Ok(done)
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.retry
    }

    fn timeout_ms(&self) -> i64 {
        self.timeout_ms
    }
}

fn intent(key: ContentKey, kind: &'static str, name: String, turn: usize, input: Json) -> StepIntent {
    StepIntent { key, kind, name, turn: turn as u32, input, on_unknown: OnUnknown::Repeat }
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
