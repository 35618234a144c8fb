//! Traces: one per item and run, one span per attempt, one below it per step. Their ids are made of the
//! ids of what they tell of, so that every process knows them without being told: an attempt made after a
//! crash joins the trace of the one before, and a called service its caller's span.

use std::time::Duration;

use crate::ids::{AttemptId, ItemId, RunId, StepId};
use crate::time::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub u128);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

impl TraceId {
    pub fn of(run: RunId, item: ItemId) -> Self {
        let [high, low] = digest(b"windrow trace", run.0, item.0);
        Self((u128::from(high) << 64 | u128::from(low)).max(1))
    }
}

impl SpanId {
    /// The fence tells two claims of one attempt apart.
    pub fn of_attempt(attempt: AttemptId, fence: i64) -> Self {
        Self(digest(b"windrow attempt", attempt.0, fence)[0].max(1))
    }

    pub fn of_step(step: StepId) -> Self {
        Self(digest(b"windrow step", step.0, 0)[0].max(1))
    }
}

fn digest(what: &[u8], a: i64, b: i64) -> [u64; 2] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(what).update(&a.to_le_bytes()).update(&b.to_le_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    let whole = u128::from_be_bytes(bytes);
    [(whole >> 64) as u64, whole as u64]
}

impl std::fmt::Display for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl std::fmt::Display for SpanId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The header by which a called service joins the trace (W3C Trace Context).
pub fn traceparent(trace: TraceId, span: SpanId) -> String {
    format!("00-{trace}-{span}-01")
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Number(i64),
    Real(f64),
    Texts(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(number)
    }
}

/// By its name in the semantic conventions of OpenTelemetry, or under `windrow.`.
pub type Attribute = (&'static str, Value);

/// Something that began and ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: String,
    /// It called another service.
    pub is_call: bool,
    pub started_at: Time,
    pub took: Duration,
    pub attributes: Vec<Attribute>,
    pub failed: bool,
}

/// Receives spans. Called while items run: it must not block.
pub trait Tracer: Send + Sync {
    fn samples(&self, trace: TraceId) -> bool;
    /// Whether inputs and outputs may be in a span's attributes.
    fn takes_content(&self) -> bool;
    fn ended(&self, span: Span);
}

/// The span of a call under way, for the caller.
pub trait CallSpan: Send + Sync {
    fn traceparent(&self) -> String;
    /// Says something of the call; never its content, never a secret.
    fn note(&self, attribute: Attribute);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_of_what_they_tell_of() {
        let (run, item) = (RunId(7), ItemId(9));
        assert_eq!(TraceId::of(run, item), TraceId::of(run, item));
        assert_ne!(TraceId::of(run, item), TraceId::of(RunId(8), item));
        let attempt = AttemptId::new(item, 1);
        assert_ne!(SpanId::of_attempt(attempt, 1), SpanId::of_attempt(attempt, 2));
        let header = traceparent(TraceId::of(run, item), SpanId::of_step(StepId::new(attempt, 0)));
        assert_eq!((header.len(), &header[..3], &header[52..]), (55, "00-", "-01"));
    }
}
