//! An OpenAI-compatible endpoint that counts calls per question, admits as many as allowed, and fails on demand. It
//! also judges: a prompt with a rubric gets the full score, unless configured otherwise.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

pub struct Endpoint {
    pub url: String,
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Record {
    calls: BTreeMap<String, usize>,
    answered: usize,
    failing: BTreeSet<String>,
    /// Wrong answers left, by question.
    wrong: BTreeMap<String, usize>,
    judging: Judging,
    /// Faults of the next calls; later calls succeed.
    reactions: VecDeque<Reaction>,
    /// Arrival time and fault of each call.
    arrivals: Vec<(Instant, Reaction)>,
    traceparents: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    Answer,
    /// 429, with these seconds in `Retry-After`.
    RateLimit(u64),
    /// 500.
    ServerError,
    /// Never responds.
    Hang,
}

/// Behaviour as a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Judging {
    #[default]
    Valid,
    /// Rejects permanently (400).
    Rejecting,
    /// Returns a reply that cannot be parsed.
    Unparsable,
}

struct Shared {
    record: Mutex<Record>,
    /// One permit admits one question.
    gate: Semaphore,
    max_latency_ms: u64,
}

impl Endpoint {
    /// Answers at once.
    pub fn open() -> Self {
        Self::start(Semaphore::MAX_PERMITS, 0)
    }

    /// Admits only as many questions as there are permits.
    pub fn gated(permits: usize) -> Self {
        Self::start(permits, 0)
    }

    pub fn with_latency(max_ms: u64) -> Self {
        Self::start(Semaphore::MAX_PERMITS, max_ms)
    }

    fn start(permits: usize, max_latency_ms: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared = Arc::new(Shared { record: Mutex::default(), gate: Semaphore::new(permits), max_latency_ms });
        let app = Router::new().route("/v1/chat/completions", post(complete)).with_state(shared.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, shared, _runtime: runtime }
    }

    pub fn let_through(&self, questions: usize) {
        self.shared.gate.add_permits(questions);
    }

    pub fn open_gate(&self) {
        self.let_through(1 << 30);
    }

    /// Sets the faults of the next calls, one each.
    pub fn reacts_with(&self, reactions: impl IntoIterator<Item = Reaction>) {
        self.shared.record.lock().unwrap().reactions = reactions.into_iter().collect();
    }

    pub fn arrivals(&self) -> Vec<(Instant, Reaction)> {
        self.shared.record.lock().unwrap().arrivals.clone()
    }

    /// The trace context headers of the calls.
    pub fn traceparents(&self) -> Vec<String> {
        self.shared.record.lock().unwrap().traceparents.clone()
    }

    /// Rejects these questions (400) until changed.
    pub fn fail_on(&self, questions: impl IntoIterator<Item = usize>) {
        self.shared.record.lock().unwrap().failing = questions.into_iter().map(|n| n.to_string()).collect();
    }

    /// Answers this question wrongly the next few times.
    pub fn errs(&self, question: usize, times: usize) {
        self.shared.record.lock().unwrap().wrong.insert(question.to_string(), times);
    }

    pub fn judges(&self, judging: Judging) {
        self.shared.record.lock().unwrap().judging = judging;
    }

    pub fn calls(&self) -> usize {
        self.shared.record.lock().unwrap().calls.values().sum()
    }

    /// Calls by judges.
    pub fn rulings(&self) -> usize {
        let record = self.shared.record.lock().unwrap();
        record.calls.iter().filter(|(question, _)| asks_for_a_ruling(question)).map(|(_, calls)| calls).sum()
    }

    /// Calls by targets.
    pub fn questions(&self) -> usize {
        self.calls() - self.rulings()
    }

    pub fn answered(&self) -> usize {
        self.shared.record.lock().unwrap().answered
    }

    pub fn calls_by_question(&self) -> BTreeMap<String, usize> {
        self.shared.record.lock().unwrap().calls.clone()
    }
}

async fn complete(State(shared): State<Arc<Shared>>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    let question = request["messages"].as_array().and_then(|all| all.last()).map(|last| &last["content"]);
    let question = question.and_then(Value::as_str).unwrap_or_default().to_owned();
    let reaction = {
        let mut record = shared.record.lock().unwrap();
        *record.calls.entry(question.clone()).or_default() += 1;
        let reaction = record.reactions.pop_front().unwrap_or(Reaction::Answer);
        record.arrivals.push((Instant::now(), reaction));
        let parent = headers.get("traceparent").map(|value| value.to_str().unwrap().to_owned());
        record.traceparents.extend(parent);
        reaction
    };
    let error = |text: &str| Json(json!({"error": {"message": text}}));
    match reaction {
        Reaction::Answer => {}
        Reaction::RateLimit(seconds) => {
            let headers = [("retry-after", seconds.to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, headers, error("too many requests")).into_response();
        }
        Reaction::ServerError => return (StatusCode::INTERNAL_SERVER_ERROR, error("it broke")).into_response(),
        Reaction::Hang => std::future::pending().await,
    }
    shared.gate.acquire().await.unwrap().forget();
    if shared.max_latency_ms > 0 {
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..shared.max_latency_ms * 1000))).await;
    }
    let mut record = shared.record.lock().unwrap();
    record.answered += 1;
    if record.failing.contains(&question) {
        return refusal("this question is not welcome");
    }
    let left = record.wrong.entry(question.clone()).or_default();
    let errs = *left > 0;
    *left = left.saturating_sub(1);
    let content = match record.judging {
        _ if errs => "I do not know".to_owned(),
        _ if !asks_for_a_ruling(&question) => format!("answer {question}"),
        Judging::Valid => json!({"score": 5, "reason": "as it should be"}).to_string(),
        Judging::Unparsable => "Who am I to say?".to_owned(),
        Judging::Rejecting => return refusal("there is no judge"),
    };
    let message = json!({"role": "assistant", "content": content});
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "any",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    Json(body).into_response()
}

fn asks_for_a_ruling(question: &str) -> bool {
    question.contains("<rubric>") || question.contains("This reply cannot be used")
}

fn refusal(why: &str) -> Response {
    let error = json!({"error": {"message": why, "type": "invalid_request_error"}});
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}
