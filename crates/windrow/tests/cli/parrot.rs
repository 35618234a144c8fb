//! An endpoint that echoes the secrets it receives, in responses and errors, in plain text and in every encoding.

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::any;
use axum::{Json, Router};
use serde_json::{Value, json};

pub struct Parrot {
    pub url: String,
    heard: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Parrot {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let app = Router::new().route("/{reaction}/{*rest}", any(repeat)).with_state(heard.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, heard, _runtime: runtime }
    }

    pub fn has_heard(&self, secret: &str) -> bool {
        self.heard.lock().unwrap().iter().any(|header| header.contains(secret))
    }
}

/// A secret in plain text and in every encoding that a service may return.
pub fn forms(secret: &str) -> Vec<String> {
    let quoted = json!(secret).to_string();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    vec![
        secret.to_owned(),
        quoted[1..quoted.len() - 1].to_owned(),
        quoted[1..quoted.len() - 1].replace('/', "\\/"),
        base64(secret.as_bytes()),
        percent,
        hex,
    ]
}

pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |chunk: &[u8]| {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let letters = (0..=chunk.len()).map(|n| char::from(ALPHABET[(word >> (18 - 6 * n)) as usize & 63]));
        letters.chain("==".chars().take(3 - chunk.len())).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

async fn repeat(
    State(heard): State<Arc<Mutex<Vec<String>>>>,
    Path((reaction, _)): Path<(String, String)>,
    headers: HeaderMap,
) -> (StatusCode, [(&'static str, String); 1], Json<Value>) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let sent = [text("authorization"), text("x-token")];
    heard.lock().unwrap().extend(sent.clone());
    let secrets = sent.iter().map(|header| header.trim_start_matches("Bearer ")).filter(|secret| !secret.is_empty());
    let all: Vec<String> = secrets.flat_map(|secret| [forms(secret), vec![basic(secret)]].concat()).collect();
    let place = [("location", format!("/polite/{}", sent.join("/")))];
    let said = format!("you sent {}", all.join(" and "));
    if reaction == "angry" {
        let error = json!({"error": {"message": said, "type": "invalid_request_error"}, "sent": sent});
        return (StatusCode::BAD_REQUEST, place, Json(error));
    }
    let message = json!({"role": "assistant", "content": said});
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "any", "sent": all,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    (StatusCode::OK, place, Json(body))
}

/// As a proxy would write it to its log.
fn basic(secret: &str) -> String {
    format!("Basic {}", base64(format!("user:{secret}").as_bytes()))
}
