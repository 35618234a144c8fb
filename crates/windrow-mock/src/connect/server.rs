//! The HTTP server: each cluster has its own path; faults are injected before or after the effect.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Request, State as Shared};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, patch, post, put};
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::cluster::{Answer, Clusters};
use super::connector::State;
use super::faults::{Fault, Faults};

pub struct Behaviour {
    /// Initial number of connectors, all in cluster `east`.
    pub connectors: usize,
    /// Delay until a desired state takes effect.
    pub delay: Duration,
    /// Duration of a call that times out.
    pub hang: Duration,
    pub faults: Faults,
    /// Share of connectors whose tasks fail after a change of the configuration.
    pub broken: f64,
    pub seed: u64,
}

struct Mock {
    clusters: Mutex<Clusters>,
    chance: Mutex<fastrand::Rng>,
    faults: Faults,
    hang: Duration,
}

type Mocked = Shared<Arc<Mock>>;

impl Mock {
    fn clusters(&self) -> MutexGuard<'_, Clusters> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the change and returns its response, unless a fault replaces either.
    async fn change(&self, call: &'static str, change: impl FnOnce(&mut Clusters, Instant) -> Answer) -> Response {
        let chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner).f64();
        let fault = self.faults.pick(chance);
        if fault == Some(Fault::Rebalance) {
            return refusal(
                StatusCode::CONFLICT,
                "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)",
            );
        }
        if fault == Some(Fault::Error) {
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, "Internal error");
        }
        let answer = {
            let mut clusters = self.clusters();
            clusters.count(call);
            change(&mut clusters, Instant::now())
        };
        match fault {
            Some(Fault::After) => {
                return refusal(StatusCode::INTERNAL_SERVER_ERROR, "Error while forwarding the request");
            }
            Some(Fault::Timeout) => {
                tokio::time::sleep(self.hang).await;
                return refusal(StatusCode::INTERNAL_SERVER_ERROR, "Request timed out");
            }
            _ => {}
        }
        match answer {
            Ok((status, Value::Null)) => status.into_response(),
            Ok((status, body)) => (status, Json(body)).into_response(),
            Err((status, message)) => refusal(status, &message),
        }
    }

    fn look(&self, look: impl FnOnce(&mut Clusters, Instant) -> Result<Value, (StatusCode, String)>) -> Response {
        match look(&mut self.clusters(), Instant::now()) {
            Ok(body) => Json(body).into_response(),
            Err((status, message)) => refusal(status, &message),
        }
    }
}

fn refusal(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error_code": status.as_u16(), "message": message }))).into_response()
}

fn parsed(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, behaviour: Behaviour) -> io::Result<()> {
    let Behaviour { connectors, delay, hang, faults, broken, seed } = behaviour;
    let (mut clusters, mut chance, now) = (Clusters::new(delay), fastrand::Rng::with_seed(seed), Instant::now());
    for n in 0..connectors {
        let breaks = chance.f64() < broken;
        clusters.seed("east", &format!("orders-{n:04}"), breaks, now);
    }
    let mock = Arc::new(Mock { clusters: Mutex::new(clusters), chance: Mutex::new(chance), faults, hang });
    let router = Router::new()
        .route("/_stats", get(async |mock: Mocked| mock.look(|clusters, now| Ok(clusters.stats(now)))))
        .route("/_sent", get(async |mock: Mocked| mock.look(|clusters, _| Ok(json!(clusters.source.sent)))))
        .route("/_insert/{n}", post(insert))
        .route("/_start/{cluster}/{ms}", post(start))
        .route("/_calls", get(async |mock: Mocked| mock.look(|clusters, _| Ok(json!(clusters.calls)))))
        .route("/{cluster}/connectors", get(list).post(create))
        .route("/{cluster}/connectors/{name}", get(info).delete(delete))
        .route("/{cluster}/connectors/{name}/status", get(status))
        .route("/{cluster}/connectors/{name}/config", get(config).put(put_config))
        .route("/{cluster}/connectors/{name}/pause", put(|mock: Mocked, at: Path<At>| want(mock, at, State::Paused)))
        .route("/{cluster}/connectors/{name}/stop", put(|mock: Mocked, at: Path<At>| want(mock, at, State::Stopped)))
        .route("/{cluster}/connectors/{name}/resume", put(|mock: Mocked, at: Path<At>| want(mock, at, State::Running)))
        .route("/{cluster}/connectors/{name}/restart", post(restart))
        .route("/{cluster}/connectors/{name}/offsets", get(offsets).merge(patch(alter)).delete(reset))
        .route("/{cluster}/connector-plugins/{class}/config", get(declared))
        .route("/{cluster}/connector-plugins/{class}/config/validate", put(validate))
        .layer(middleware::from_fn_with_state(mock.clone(), nothing_while_starting))
        .with_state(mock);
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

/// Cluster and connector.
type At = (String, String);

async fn insert(mock: Mocked, Path(transactions): Path<u64>) -> Response {
    mock.look(|clusters, now| {
        clusters.insert(transactions, now);
        Ok(Value::Null)
    })
}

async fn start(mock: Mocked, Path((cluster, ms)): Path<(String, u64)>) -> Response {
    mock.look(|clusters, now| {
        clusters.start(&cluster, Duration::from_millis(ms), now);
        Ok(Value::Null)
    })
}

/// While a worker of Kafka Connect starts, its web server has nothing to show, and says so in HTML.
async fn nothing_while_starting(mock: Mocked, request: Request, next: Next) -> Response {
    let cluster = request.uri().path().split('/').nth(1).unwrap_or_default();
    if mock.clusters().is_starting(cluster, Instant::now()) {
        return (StatusCode::NOT_FOUND, Html("<html><head><title>Error 404 Not Found</title></head></html>"))
            .into_response();
    }
    next.run(request).await
}

async fn list(mock: Mocked, Path(cluster): Path<String>) -> Response {
    mock.look(|clusters, _| Ok(json!(clusters.names(&cluster))))
}

async fn create(mock: Mocked, Path(cluster): Path<String>, body: Bytes) -> Response {
    mock.change("create", |clusters, now| clusters.create(&cluster, &parsed(&body), now)).await
}

async fn info(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.look(|clusters, _| {
        let connector = clusters.of(&cluster, &name)?;
        Ok(json!({ "name": name, "config": connector.config, "tasks": [], "type": "source" }))
    })
}

async fn config(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.look(|clusters, _| Ok(json!(clusters.of(&cluster, &name)?.config)))
}

async fn status(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.look(|clusters, now| Ok(clusters.of(&cluster, &name)?.status(&name, now)))
}

async fn offsets(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.look(|clusters, _| Ok(json!({ "offsets": clusters.of(&cluster, &name)?.offsets })))
}

async fn delete(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.change("delete", |clusters, _| clusters.delete(&cluster, &name)).await
}

async fn want(mock: Mocked, Path((cluster, name)): Path<At>, state: State) -> Response {
    mock.change("state", |clusters, now| clusters.want(&cluster, &name, state, now)).await
}

async fn put_config(mock: Mocked, Path((cluster, name)): Path<At>, body: Bytes) -> Response {
    mock.change("config", |clusters, now| clusters.put(&cluster, &name, parsed(&body), now)).await
}

async fn restart(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.change("restart", |clusters, now| {
        let delay = clusters.delay;
        clusters.of(&cluster, &name)?.want_again(delay, now);
        Ok((StatusCode::ACCEPTED, clusters.of(&cluster, &name)?.status(&name, now)))
    })
    .await
}

async fn alter(mock: Mocked, Path((cluster, name)): Path<At>, body: Bytes) -> Response {
    mock.change("offsets", |clusters, now| clusters.alter_offsets(&cluster, &name, Some(&parsed(&body)), now)).await
}

async fn reset(mock: Mocked, Path((cluster, name)): Path<At>) -> Response {
    mock.change("offsets", |clusters, now| clusters.alter_offsets(&cluster, &name, None, now)).await
}

/// What the class says about its configuration.
async fn declared() -> Response {
    let key = |(name, kind): (&str, &str)| json!({ "name": name, "type": kind, "required": false });
    let keys = [("tasks.max", "INT"), ("database.password", "PASSWORD"), ("database.login.line", "PASSWORD")];
    Json(keys.map(key)).into_response()
}

async fn validate(Path((_, class)): Path<At>, body: Bytes) -> Response {
    let config = parsed(&body);
    let tasks = config["tasks.max"].as_str().unwrap_or("1");
    let errors: Vec<String> = match tasks.parse::<u32>() {
        Ok(n) if n > 0 => Vec::new(),
        _ => vec![format!("Invalid value {tasks} for configuration tasks.max: must be a positive integer")],
    };
    let value = json!({ "name": "tasks.max", "value": tasks, "errors": errors });
    Json(json!({ "name": class, "error_count": errors.len(), "groups": [], "configs": [{ "value": value }] }))
        .into_response()
}
