//! A prepared experiment: pages its dataset and does one row, turn by turn (E18). Everything that
//! can be compiled was compiled when the run was prepared.

use std::sync::Arc;

use async_trait::async_trait;
use minijinja::value::Value;

use windrow_model::priority::Priority;
use windrow_model::retry::RetryPolicy;
use windrow_model::step::{ContentKey, OnUnknown, Score, StepIntent};
use windrow_model::store::NewItem;
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, WorkItem};
use windrow_model::{ErrorClass, Failure, Json};

use super::conversation::Conversation;
use super::dataset::{Dataset, Place, ReadError, Row};
use super::evaluator::{Bound, Finding, Subject};
use super::message::{Message, Prompt, Role};
use super::spec::ExperimentSpec;
use super::step::perform;
use super::target::{self, Answer, Question, Setting, Target};
use crate::duration::Duration;
use crate::environment::Environment;

pub struct Experiment {
    dataset: Dataset,
    prompt: Prompt,
    target: Arc<dyn Target>,
    evaluators: Vec<Bound>,
    retry: RetryPolicy,
    timeout_ms: i64,
}

impl Experiment {
    pub fn prepare(spec: ExperimentSpec, environment: Environment) -> Result<Self, Failure> {
        // A little under the item's own limit, so that a call that takes too long is still recorded.
        let timeout = Duration { ms: spec.timeout_ms - (spec.timeout_ms / 20).min(1000) };
        let setting = Setting { environment, timeout };
        Ok(Self {
            dataset: spec.dataset,
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
        let place = match cursor {
            None => Place::START,
            Some(cursor) => cursor.parse().map_err(|error| invalid(format!("the planning cursor is bad: {error}")))?,
        };
        let dataset = self.dataset.clone();
        let read = tokio::task::spawn_blocking(move || read_page(&dataset, place, limit));
        read.await.map_err(|error| Failure::new(ErrorClass::Handler, format!("reading the dataset: {error}")))?
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        if item.rollback {
            return Err(invalid("an experiment changes nothing and cannot be rolled back").into());
        }
        let row = item.input.parse().map_err(|error| invalid(format!("the row is not a JSON object: {error}")))?;
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

/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

fn read_page(dataset: &Dataset, place: Place, limit: usize) -> Result<SourcePage, Failure> {
    let failed = |error: ReadError| {
        let path = dataset.path.display();
        invalid(match error {
            ReadError::Row(bad) => format!("{path}:{}: {}: {}; {}", bad.line, bad.message, bad.text, bad.help),
            ReadError::File(error) => format!("{path}: the dataset cannot be read: {error}"),
        })
    };
    let mut rows = dataset.open(place).map_err(failed)?;
    let mut items = Vec::with_capacity(limit.min(1024));
    let mut bytes = 0;
    while items.len() < limit && bytes < PAGE_BYTES {
        let Some(row) = rows.next_row() else { break };
        let Row { fields, text, .. } = row.map_err(failed)?;
        bytes += text.len();
        items.push(NewItem {
            key: Row::key(fields),
            input: Json::from_text(text),
            priority: Priority::NORMAL,
            resource: None,
            not_before: None,
            group: None,
        });
    }
    let done = rows.at_end().map_err(failed)?;
    Ok(SourcePage { items, cursor: Some(Json::of(&rows.place())), done })
}

fn intent(key: ContentKey, kind: &'static str, name: String, turn: usize, input: Json) -> StepIntent {
    StepIntent { key, kind, name, turn: turn as u32, input, on_unknown: OnUnknown::Repeat }
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
