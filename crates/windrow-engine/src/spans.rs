//! The trace of an attempt: a span for the attempt, and a child span for every step. Only for sampled items; others
//! cost nothing.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windrow_model::step::{StepIntent, StepResult};
use windrow_model::trace::{Attribute, CallSpan, Span, SpanId, TraceId, Tracer, Value, traceparent};
use windrow_model::{ErrorClass, JobId, Json, Lease, StepId, Time};

use crate::worker_context::{Assignment, WorkerContext};

pub struct ItemTrace {
    tracer: Arc<dyn Tracer>,
    id: TraceId,
    span: SpanId,
    lease: Lease,
    job: Option<JobId>,
    kind: &'static str,
    started_at: Time,
    began: Instant,
}

impl ItemTrace {
    pub fn begin(context: &WorkerContext, assignment: &Assignment) -> Option<Arc<Self>> {
        let tracer = context.tracer.as_ref()?;
        let lease = assignment.claimed.lease;
        let id = TraceId::of(lease.run, lease.attempt.item());
        tracer.samples(id).then(|| {
            Arc::new(Self {
                tracer: tracer.clone(),
                id,
                span: SpanId::of_attempt(lease.attempt, lease.fence),
                lease,
                job: assignment.job,
                kind: assignment.program.kind(),
                started_at: context.now(),
                began: Instant::now(),
            })
        })
    }

    pub fn end(&self, outcome: &'static str, error: Option<ErrorClass>) {
        let mut attributes = self.attributes();
        attributes.push(("windrow.outcome", outcome.into()));
        attributes.extend(error.map(|class| ("error.type", Value::from(class.as_str()))));
        self.tracer.ended(Span {
            trace: self.id,
            id: self.span,
            parent: None,
            name: format!("{} item", self.kind),
            is_call: false,
            started_at: self.started_at,
            took: self.began.elapsed(),
            attributes,
            failed: error.is_some(),
        });
    }

    pub fn begin_step(self: &Arc<Self>, no: u32, intent: &StepIntent, now: Time) -> Arc<StepSpan> {
        let content = self.tracer.takes_content();
        Arc::new(StepSpan {
            item: self.clone(),
            id: SpanId::of_step(StepId::new(self.lease.attempt, no)),
            action: intent.kind.clone(),
            name: intent.name.clone(),
            turn: intent.turn,
            input: content.then(|| intent.input.clone()),
            notes: Mutex::default(),
            started_at: now,
            began: Instant::now(),
        })
    }

    fn attributes(&self) -> Vec<Attribute> {
        let mut attributes: Vec<Attribute> = vec![
            ("windrow.job.kind", self.kind.into()),
            ("windrow.run.id", self.lease.run.to_string().into()),
            ("windrow.item.id", self.lease.attempt.item().0.into()),
            ("windrow.attempt", i64::from(self.lease.attempt.no()).into()),
        ];
        attributes.extend(self.job.map(|job| ("windrow.job.id", Value::from(job.to_string()))));
        attributes
    }
}

pub struct StepSpan {
    item: Arc<ItemTrace>,
    id: SpanId,
    action: Cow<'static, str>,
    name: String,
    turn: u32,
    /// Only where the tracer takes content.
    input: Option<Json>,
    notes: Mutex<Vec<Attribute>>,
    started_at: Time,
    began: Instant,
}

impl StepSpan {
    pub fn end(&self, result: &StepResult) {
        self.end_after(result, self.began.elapsed(), true);
    }

    /// A step recorded after it was made.
    pub fn end_at_once(&self, result: &StepResult, took: Duration) {
        self.end_after(result, took, false);
    }

    fn end_after(&self, result: &StepResult, took: Duration, is_call: bool) {
        let mut attributes = self.item.attributes();
        attributes.push(("windrow.step.action", self.action.as_ref().into()));
        attributes.push(("windrow.step.turn", i64::from(self.turn).into()));
        if !self.name.is_empty() {
            attributes.push(("windrow.step.name", self.name.as_str().into()));
        }
        attributes.append(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        let output = match result {
            StepResult::Done { output, usage } => {
                if usage.tokens_in + usage.tokens_out > 0 {
                    attributes.push(("gen_ai.usage.input_tokens", usage.tokens_in.into()));
                    attributes.push(("gen_ai.usage.output_tokens", usage.tokens_out.into()));
                }
                if usage.cost_nanos > 0 {
                    attributes.push(("windrow.cost.dollars", Value::Real(usage.cost_nanos as f64 / 1e9)));
                }
                Some(output)
            }
            StepResult::Failed { failure } => {
                attributes.push(("error.type", failure.class.as_str().into()));
                None
            }
        };
        if let Some(input) = &self.input {
            attributes.push(("windrow.step.input", input.as_str().into()));
            attributes.extend(output.map(|output| ("windrow.step.output", Value::from(output.as_str()))));
        }
        self.item.tracer.ended(Span {
            trace: self.item.id,
            id: self.id,
            parent: Some(self.item.span),
            name: self.title(&attributes),
            is_call,
            started_at: self.started_at,
            took,
            attributes,
            failed: matches!(result, StepResult::Failed { .. }),
        });
    }

    /// By OpenTelemetry's GenAI conventions (`chat gpt-5`), else the action and name of the step.
    fn title(&self, attributes: &[Attribute]) -> String {
        let text = |wanted: &str| {
            attributes.iter().find_map(|(name, value)| match value {
                Value::Text(text) if *name == wanted => Some(text.as_str()),
                _ => None,
            })
        };
        match (text("gen_ai.operation.name"), text("gen_ai.request.model")) {
            (Some(operation), Some(model)) => format!("{operation} {model}"),
            _ if self.name.is_empty() => self.action.clone().into_owned(),
            _ => format!("{} {}", self.action, self.name),
        }
    }
}

impl CallSpan for StepSpan {
    fn traceparent(&self) -> String {
        traceparent(self.item.id, self.id)
    }

    fn note(&self, attribute: Attribute) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(attribute);
    }
}
