//! The HTTP server: selects the dialect, applies faults and limits, waits for the latency, answers, and counts.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::dialect::{self, Dialect, Written};
use super::fault::Fault;
use super::gate::Gate;
use super::stats::{Shown, Stats};
use super::{Behaviour, Log, embedding, stream, words};

const MAX_BODY: usize = 64 << 20;

struct Mock {
    behaviour: Behaviour,
    gate: Gate,
    stats: Stats,
    log: Log,
}

type Shared = State<Arc<Mock>>;

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, behaviour: Behaviour, log: Log) -> io::Result<()> {
    let gate = Gate::new(behaviour.seed);
    let mock = Arc::new(Mock { behaviour, gate, stats: Stats::new(Instant::now()), log });
    let router = Router::new()
        .route("/v1/chat/completions", post(|mock: Shared, body: Bytes| chat(mock, &dialect::OPENAI, None, body)))
        .route("/v1/messages", post(|mock: Shared, body: Bytes| chat(mock, &dialect::ANTHROPIC, None, body)))
        .route("/api/chat", post(|mock: Shared, body: Bytes| chat(mock, &dialect::OLLAMA, None, body)))
        .route(
            "/v1beta/models/{call}",
            post(|mock: Shared, Path(call): Path<String>, body: Bytes| chat(mock, &dialect::GEMINI, Some(call), body)),
        )
        .route("/v1/embeddings", post(embed))
        .route("/v1/models", get(models))
        .route("/_stats", get(stats))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(mock);
    // Disable Nagle's algorithm, so that small responses are not delayed.
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

async fn chat(State(mock): Shared, dialect: &'static Dialect, call: Option<String>, body: Bytes) -> Response {
    let visit = Visit::new(&mock, dialect, &body);
    let asked = serde_json::from_slice(&body)
        .map_err(|error| error.to_string())
        .and_then(|body: Value| (dialect.read)(&body, call.as_deref()));
    let asked = match asked {
        Ok(asked) => asked,
        Err(wrong) => return visit.refuse(StatusCode::BAD_REQUEST, None, &format!("bad request: {wrong}")),
    };
    if let Err(fault) = mock.gate.pass(&mock.behaviour, visit.came) {
        return visit.fail(fault).await;
    }
    let said = super::respond::respond(&asked, &mock.behaviour);
    let latency = mock.behaviour.latency_of(&asked.fingerprint());
    let written = if asked.stream { (dialect.stream)(&asked, &said) } else { (dialect.write)(&asked, &said) };
    let (kind, body) = match written {
        Written::Whole(value) => {
            tokio::time::sleep(latency).await;
            ("application/json", value.to_string().into())
        }
        Written::Pieces { kind, pieces } => (kind, stream::body(pieces, latency)),
    };
    visit.ended("200", json!({ "question": asked.question(), "answer": said.text }));
    Response::builder().header(CONTENT_TYPE, kind).body(body).expect("a content type of ours is a valid header")
}

#[derive(Deserialize)]
struct Embed {
    #[serde(default)]
    model: String,
    input: Value,
    dimensions: Option<usize>,
}

async fn embed(State(mock): Shared, body: Bytes) -> Response {
    let visit = Visit::new(&mock, &dialect::EMBEDDINGS, &body);
    let Ok(Embed { model, input, dimensions }) = serde_json::from_slice(&body) else {
        return visit.refuse(StatusCode::BAD_REQUEST, None, "`input` must be a string or a list of strings");
    };
    if let Err(fault) = mock.gate.pass(&mock.behaviour, visit.came) {
        return visit.fail(fault).await;
    }
    let texts: Vec<&str> = match &input {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    tokio::time::sleep(mock.behaviour.latency_of(&input.to_string())).await;
    let dimensions = dimensions.unwrap_or(embedding::DIMENSIONS).clamp(1, 4096);
    let one = |(no, text): (usize, &&str)| json!({ "object": "embedding", "index": no, "embedding": embedding::of(text, dimensions) });
    let tokens: usize = texts.iter().map(|text| words::count(text)).sum();
    let answer = json!({
        "object": "list",
        "model": model,
        "data": texts.iter().enumerate().map(one).collect::<Vec<_>>(),
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    });
    visit.ended("200", json!({ "texts": texts.len() }));
    Json(answer).into_response()
}

async fn models() -> Json<Value> {
    let model = |id: &str| json!({ "id": id, "object": "model", "owned_by": "windrow" });
    let models: Vec<Value> = ["mock", "mock-judge", "mock-embedding"].into_iter().map(model).collect();
    Json(json!({ "object": "list", "data": models }))
}

#[derive(Deserialize)]
struct StatsQuery {
    bodies: Option<String>,
}

async fn stats(State(mock): Shared, Query(query): Query<StatsQuery>) -> Json<Shown> {
    Json(mock.stats.show(query.bodies.as_deref() == Some("all")))
}

impl Behaviour {
    /// The same question has the same latency, so that runs are reproducible.
    fn latency_of(&self, fingerprint: &str) -> Duration {
        let swing = 2.0 * words::chance(self.seed, "latency", fingerprint) - 1.0;
        self.latency.mul_f64((1.0 + self.jitter * swing).max(0.0))
    }
}

/// One request, from arrival to response.
struct Visit<'a> {
    mock: &'a Mock,
    dialect: &'static Dialect,
    body: u64,
    came: Instant,
}

impl<'a> Visit<'a> {
    fn new(mock: &'a Mock, dialect: &'static Dialect, body: &Bytes) -> Self {
        let visit = Self { mock, dialect, body: words::hash(0, &String::from_utf8_lossy(body)), came: Instant::now() };
        mock.stats.seen(visit.body, visit.came);
        visit
    }

    fn ended(&self, outcome: &str, detail: Value) {
        self.mock.stats.ended(self.dialect.route, outcome, self.body, Instant::now());
        let mut line = json!({
            "route": self.dialect.route,
            "outcome": outcome,
            "body": format!("{:016x}", self.body),
            "ms": self.came.elapsed().as_millis() as u64,
        });
        if let (Value::Object(line), Value::Object(detail)) = (&mut line, detail) {
            line.extend(detail);
        }
        self.mock.log.write(&line);
    }

    fn refuse(&self, status: StatusCode, retry_after: Option<Duration>, message: &str) -> Response {
        self.ended(status.as_str(), json!({ "message": message }));
        let mut response = (status, Json((self.dialect.error)(status.as_u16(), message))).into_response();
        if let Some(wait) = retry_after {
            let seconds = wait.as_millis().div_ceil(1000).to_string();
            response.headers_mut().insert(RETRY_AFTER, seconds.parse().expect("digits are a valid header"));
        }
        response
    }

    async fn fail(&self, fault: Fault) -> Response {
        match fault {
            Fault::Status { code, retry_after } => {
                let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                self.refuse(
                    status,
                    retry_after,
                    &format!("{} (injected fault)", status.canonical_reason().unwrap_or("error")),
                )
            }
            Fault::Hang => {
                self.ended("hang", Value::Null);
                std::future::pending().await
            }
            Fault::Reset => {
                self.ended("reset", Value::Null);
                Response::new(stream::broken())
            }
        }
    }
}
