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
    desk: Arc<Desk>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Ledger {
    calls: BTreeMap<String, usize>,
    answered: usize,
    failing: BTreeSet<String>,
    judging: Judging,
    /// Faults of the next calls; later calls succeed.
    moods: VecDeque<Mood>,
    /// Arrival time and fault of each call.
    arrivals: Vec<(Instant, Mood)>,
    traceparents: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// 429, with these seconds in `Retry-After`.
    Busy(u64),
    /// 500.
    Broken,
    /// Never responds.
    Hanging,
}

/// Behaviour as a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Judging {
    #[default]
    Well,
    /// Rejects permanently (400).
    Refusing,
    /// Returns a reply that cannot be parsed.
    Rambling,
}

struct Desk {
    ledger: Mutex<Ledger>,
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
        let desk = Arc::new(Desk { ledger: Mutex::default(), gate: Semaphore::new(permits), max_latency_ms });
        let app = Router::new().route("/v1/chat/completions", post(complete)).with_state(desk.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, desk, _runtime: runtime }
    }

    pub fn let_through(&self, questions: usize) {
        self.desk.gate.add_permits(questions);
    }

    pub fn open_gate(&self) {
        self.let_through(1 << 30);
    }

    /// Sets the faults of the next calls, one each.
    pub fn suffers(&self, moods: impl IntoIterator<Item = Mood>) {
        self.desk.ledger.lock().unwrap().moods = moods.into_iter().collect();
    }

    pub fn arrivals(&self) -> Vec<(Instant, Mood)> {
        self.desk.ledger.lock().unwrap().arrivals.clone()
    }

    /// The trace context headers of the calls.
    pub fn traceparents(&self) -> Vec<String> {
        self.desk.ledger.lock().unwrap().traceparents.clone()
    }

    /// Rejects these questions (400) until changed.
    pub fn fail_on(&self, questions: impl IntoIterator<Item = usize>) {
        self.desk.ledger.lock().unwrap().failing = questions.into_iter().map(|n| n.to_string()).collect();
    }

    pub fn judges(&self, judging: Judging) {
        self.desk.ledger.lock().unwrap().judging = judging;
    }

    pub fn calls(&self) -> usize {
        self.desk.ledger.lock().unwrap().calls.values().sum()
    }

    /// Calls by judges.
    pub fn rulings(&self) -> usize {
        let ledger = self.desk.ledger.lock().unwrap();
        ledger.calls.iter().filter(|(question, _)| asks_for_a_ruling(question)).map(|(_, calls)| calls).sum()
    }

    /// Calls by targets.
    pub fn questions(&self) -> usize {
        self.calls() - self.rulings()
    }

    pub fn answered(&self) -> usize {
        self.desk.ledger.lock().unwrap().answered
    }

    pub fn calls_by_question(&self) -> BTreeMap<String, usize> {
        self.desk.ledger.lock().unwrap().calls.clone()
    }
}

async fn complete(State(desk): State<Arc<Desk>>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    let question = request["messages"].as_array().and_then(|all| all.last()).map(|last| &last["content"]);
    let question = question.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mood = {
        let mut ledger = desk.ledger.lock().unwrap();
        *ledger.calls.entry(question.clone()).or_default() += 1;
        let mood = ledger.moods.pop_front().unwrap_or(Mood::Well);
        ledger.arrivals.push((Instant::now(), mood));
        let parent = headers.get("traceparent").map(|value| value.to_str().unwrap().to_owned());
        ledger.traceparents.extend(parent);
        mood
    };
    let error = |text: &str| Json(json!({"error": {"message": text}}));
    match mood {
        Mood::Well => {}
        Mood::Busy(seconds) => {
            let headers = [("retry-after", seconds.to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, headers, error("too many requests")).into_response();
        }
        Mood::Broken => return (StatusCode::INTERNAL_SERVER_ERROR, error("it broke")).into_response(),
        Mood::Hanging => std::future::pending().await,
    }
    desk.gate.acquire().await.unwrap().forget();
    if desk.max_latency_ms > 0 {
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..desk.max_latency_ms * 1000))).await;
    }
    let mut ledger = desk.ledger.lock().unwrap();
    ledger.answered += 1;
    if ledger.failing.contains(&question) {
        return refusal("this question is not welcome");
    }
    let content = match ledger.judging {
        _ if !asks_for_a_ruling(&question) => format!("answer {question}"),
        Judging::Well => json!({"score": 5, "reason": "as it should be"}).to_string(),
        Judging::Rambling => "Who am I to say?".to_owned(),
        Judging::Refusing => return refusal("there is no judge"),
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
