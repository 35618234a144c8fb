//! The HTTP server: one route per kind of pagination, all over the same records.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LINK, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::json;
use tokio::net::TcpListener;

use super::record;
use super::stats::{Shown, Stats};
use crate::model::{Behaviour, Fault, Gate};

const MOST: i64 = 100_000;

/// The records, and the behaviour of the server.
pub struct Source {
    records: AtomicI64,
    page_size: i64,
    latency: Duration,
    bearer: Option<String>,
    behaviour: Behaviour,
    gate: Gate,
    stats: Stats,
}

type Asked = Query<HashMap<String, String>>;
type Shared = State<Arc<Source>>;

impl Source {
    pub fn new(records: i64, page_size: i64, latency: Duration, bearer: Option<String>, behaviour: Behaviour) -> Self {
        let gate = Gate::new(behaviour.seed);
        let records = AtomicI64::new(records);
        Self { records, page_size, latency, bearer, behaviour, gate, stats: Stats::default() }
    }
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, source: Source) -> io::Result<()> {
    let router = Router::new()
        .route("/{way}", get(page))
        .route("/oauth/token", post(grant))
        .route("/_stats", get(stats))
        .route("/_grow/{records}", post(grow))
        .with_state(Arc::new(source));
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

async fn stats(State(source): Shared) -> Json<Shown> {
    Json(source.stats.show())
}

async fn grow(State(source): Shared, Path(records): Path<i64>) -> StatusCode {
    source.records.store(records, Ordering::Relaxed);
    StatusCode::NO_CONTENT
}

async fn grant(State(source): Shared) -> Response {
    let token = source.bearer.as_deref().unwrap_or("granted");
    Json(json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 })).into_response()
}

async fn page(State(source): Shared, Path(way): Path<String>, headers: HeaderMap, Query(asked): Asked) -> Response {
    if let Some(token) = &source.bearer {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if given != Some(&format!("Bearer {token}")) {
            source.stats.refused();
            return refuse(StatusCode::UNAUTHORIZED, "bearer token required", None);
        }
    }
    if let Err(fault) = source.gate.pass(&source.behaviour, Instant::now()) {
        source.stats.refused();
        return match fault {
            Fault::Status { code, retry_after } => {
                let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                refuse(status, "injected error", retry_after)
            }
            Fault::Hang | Fault::Reset => std::future::pending().await,
        };
    }
    if !source.latency.is_zero() {
        tokio::time::sleep(source.latency).await;
    }
    let Some(cut) = Cut::of(&source, &way, &asked) else {
        let ways = "records, headed, linked, keyset or pages";
        return refuse(
            StatusCode::NOT_FOUND,
            &format!("unknown route or invalid parameter; the routes are {ways}"),
            None,
        );
    };
    source.stats.page(format!("{way} {}..{} at {}", cut.from, cut.to, cut.first), (cut.end - cut.first) as usize);
    cut.answer(&way, &asked)
}

fn refuse(status: StatusCode, message: &str, retry_after: Option<Duration>) -> Response {
    let mut response = (status, Json(json!({ "error": { "message": message } }))).into_response();
    if let Some(wait) = retry_after {
        let seconds = wait.as_millis().div_ceil(1000).to_string();
        response.headers_mut().insert(RETRY_AFTER, seconds.parse().expect("digits are a valid header"));
    }
    response
}

/// The ids of one page, within all requested ids.
struct Cut {
    from: i64,
    to: i64,
    first: i64,
    end: i64,
    page: i64,
}

impl Cut {
    fn of(source: &Source, way: &str, asked: &HashMap<String, String>) -> Option<Self> {
        let number = |name: &str| asked.get(name).and_then(|text| text.parse::<i64>().ok());
        let bound = |name: &str| asked.get(name).map(|text| record::first_from(text));
        let total = source.records.load(Ordering::Relaxed);
        // `since` is exclusive: only newer records are requested.
        let since = bound("since").map_or(Some(0), |id| id)?;
        let from = bound("from").map_or(Some(1), |id| id)?.max(since + 1).max(1);
        let to = bound("to").map_or(Some(total + 1), |id| id)?.min(total + 1).max(from);
        let size = number("limit").unwrap_or(source.page_size).clamp(1, MOST);
        let page = number("page").unwrap_or(1);
        let first = match way {
            "records" | "headed" => match asked.get("page_token") {
                None => from,
                Some(token) => i64::from_str_radix(token.strip_prefix("tok-")?, 36).ok()?,
            },
            "linked" => number("at").unwrap_or(from),
            "keyset" => number("after").map_or(from, |after| after + 1),
            "pages" => from + (page - 1).max(0) * size,
            _ => return None,
        };
        let first = first.clamp(from, to);
        Some(Self { from, to, first, end: first.saturating_add(size).min(to), page })
    }

    fn answer(&self, way: &str, asked: &HashMap<String, String>) -> Response {
        let more = self.end < self.to;
        let token = more.then(|| format!("tok-{}", in_base_36(self.end)));
        let mut body = String::with_capacity(200 * (self.end - self.first) as usize + 100);
        body.push_str("{\"records\":[");
        for id in self.first..self.end {
            if id > self.first {
                body.push(',');
            }
            record::write(id, &mut body);
        }
        let shown =
            token.as_ref().filter(|_| way == "records").map_or("null".to_owned(), |token| format!("\"{token}\""));
        body.push_str(&format!("],\"next\":{shown},\"page\":{}}}", self.page));
        let mut response = ([(CONTENT_TYPE, "application/json")], body).into_response();
        match (way, token) {
            ("headed", Some(token)) => {
                response.headers_mut().insert("x-next-token", token.parse().expect("a token is plain text"));
            }
            ("linked", Some(_)) => {
                let others =
                    asked.iter().filter(|(name, _)| *name != "at").map(|(name, value)| format!("&{name}={value}"));
                let link = format!("</linked?at={}{}>; rel=\"next\"", self.end, others.collect::<String>());
                if let Ok(link) = link.parse() {
                    response.headers_mut().insert(LINK, link);
                }
            }
            _ => {}
        }
        response
    }
}

fn in_base_36(mut number: i64) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
    }
    digits.iter().rev().collect()
}
