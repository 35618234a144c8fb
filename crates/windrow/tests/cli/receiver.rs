//! A webhook endpoint that verifies every signature and returns configured statuses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;

use crate::place::wait_until;

pub struct Receiver {
    pub url: String,
    desk: Arc<Desk>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Debug, Clone)]
pub struct Received {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: String,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn topic(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    /// Implemented from the specification, independently of the server's code.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let signed = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        let valid = |given: &str| {
            let given = given.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
            given.is_some_and(|given| hmac::verify(&key, signed.as_bytes(), &given).is_ok())
        };
        self.signature.split(' ').any(valid)
    }
}

#[derive(Default)]
struct Desk {
    received: Mutex<Vec<Received>>,
    answers: Mutex<VecDeque<u16>>,
    latency: Mutex<Duration>,
}

impl Receiver {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let desk = Arc::new(Desk::default());
        let app = Router::new().route("/hook", post(receive)).with_state(desk.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, desk, _runtime: runtime }
    }

    /// Returns these statuses for the next requests, then 204.
    pub fn answers(&self, statuses: &[u16]) {
        *self.desk.answers.lock().unwrap() = statuses.iter().copied().collect();
    }

    pub fn takes(&self, latency: Duration) {
        *self.desk.latency.lock().unwrap() = latency;
    }

    pub fn received(&self) -> Vec<Received> {
        self.desk.received.lock().unwrap().clone()
    }

    pub fn topics(&self) -> Vec<String> {
        self.received().iter().map(Received::topic).collect()
    }

    /// All message ids with their first body; repeated deliveries must have the same body.
    pub fn distinct(&self) -> BTreeMap<String, Value> {
        let mut distinct = BTreeMap::new();
        for received in self.received() {
            let first = distinct.entry(received.id.clone()).or_insert_with(|| received.json());
            assert_eq!(*first, received.json(), "{} came with two bodies", received.id);
        }
        distinct
    }

    pub fn wait_for(&self, topic: &str) {
        wait_until(&format!("{topic} at the receiver"), || self.topics().iter().any(|found| found == topic));
    }
}

async fn receive(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: String) -> StatusCode {
    let header = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
    desk.received.lock().unwrap().push(Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
        body,
    });
    let latency = *desk.latency.lock().unwrap();
    tokio::time::sleep(latency).await;
    let status = desk.answers.lock().unwrap().pop_front().unwrap_or(204);
    StatusCode::from_u16(status).unwrap()
}
