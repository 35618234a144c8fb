//! An OpenAI-compatible endpoint that answers at once, and targets of an operation, as a separate process. Prints its
//! address, and a line when a rejected question is asked again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

/// The first request with this word is rejected permanently.
pub const REFUSED: &str = "atlantis";

type Seen = Arc<Mutex<HashSet<String>>>;
/// Sizes of the changed targets.
type Sizes = Arc<Mutex<HashMap<String, Value>>>;

pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("http://{}/v1", listener.local_addr().expect("an address"));
        let app = axum::Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(Seen::default())
            .route("/v1/targets/{name}", get(read).put(change))
            .with_state(Sizes::default());
        axum::serve(listener, app).await.expect("serving");
    });
}

async fn read(State(sizes): State<Sizes>, Path(name): Path<String>) -> Json<Value> {
    Json(sizes.lock().expect("no panics here").get(&name).cloned().unwrap_or(json!({ "size": 1 })))
}

async fn change(State(sizes): State<Sizes>, Path(name): Path<String>, Json(size): Json<Value>) -> StatusCode {
    sizes.lock().expect("no panics here").insert(name, size);
    StatusCode::NO_CONTENT
}

/// Answers "Capital of country 7?" with "city 7".
async fn answer(State(seen): State<Seen>, Json(request): Json<Value>) -> Response {
    let question = request["messages"][0]["content"].as_str().unwrap_or_default();
    if question.contains(REFUSED) {
        let mut seen = seen.lock().expect("no panics here");
        if seen.insert(question.to_owned()) {
            return (StatusCode::BAD_REQUEST, Json(json!({ "error": { "message": "no such place" } }))).into_response();
        }
        println!("again");
    }
    let number: String = question.chars().filter(char::is_ascii_digit).collect();
    Json(json!({
        "id": "x", "object": "chat.completion", "created": 0, "model": "any",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": format!("city {number}") } }],
        "usage": { "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 }
    }))
    .into_response()
}
