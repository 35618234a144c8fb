//! A loopback endpoint that remembers every call; what it answers is a function of the request.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    /// Null where there was none.
    pub body: Value,
}

type Answering = dyn Fn(&Call) -> Response + Send + Sync;

#[derive(Clone)]
pub struct Endpoint {
    calls: Arc<Mutex<Vec<Call>>>,
    answering: Arc<Answering>,
    pub base_url: String,
}

impl Endpoint {
    pub async fn start(answering: impl Fn(&Call) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let endpoint = Self { calls: Arc::default(), answering: Arc::new(answering), base_url };
        let router = Router::new().fallback(answer).with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        endpoint
    }

    /// Answers with the capital of the country in the last message.
    pub async fn of_capitals() -> Self {
        Self::start(|call| completion(capital_in(call.last_message()))).await
    }

    /// Answers with one status and body, always.
    pub async fn refusing(status: u16, header: Option<(&'static str, &'static str)>, body: Value) -> Self {
        Self::start(move |_| {
            let mut response = (StatusCode::from_u16(status).unwrap(), Json(body.clone())).into_response();
            if let Some((name, value)) = header {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        })
        .await
    }

    /// Without the `/v1`.
    pub fn origin(&self) -> &str {
        self.base_url.strip_suffix("/v1").unwrap()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

impl Call {
    pub fn last_message(&self) -> &str {
        let messages = self.body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap()
    }

    pub fn roles(&self) -> Vec<&str> {
        self.body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect()
    }
}

async fn answer(
    State(endpoint): State<Endpoint>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let call = Call { method, path: uri.to_string(), headers, body: serde_json::from_slice(&body).unwrap_or_default() };
    let response = (endpoint.answering)(&call);
    endpoint.calls.lock().unwrap().push(call);
    response
}

pub fn completion(content: &str) -> Response {
    Json(json!({
        "model": "any-2024",
        "choices": [{ "message": { "role": "assistant", "content": content }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14 },
    }))
    .into_response()
}

fn capital_in(question: &str) -> &'static str {
    match question {
        text if text.contains("France") => "Paris",
        text if text.contains("Japan") => "Tokyo",
        _ => "I do not know",
    }
}
