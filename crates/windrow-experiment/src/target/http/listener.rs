//! Where services call back. One listener per address and process. Once open it stays open: between
//! two runs that name the same address there must be no moment in which it cannot be had.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, Uri};

use super::slot::{Expected, Slots, Waiting};

const MAX_BODY: usize = 32 * 1024 * 1024;

/// Several programs of one process may name the same address.
static OPEN: LazyLock<Mutex<HashMap<SocketAddr, Arc<Listener>>>> = LazyLock::new(Mutex::default);

pub struct Listener {
    slots: Arc<Slots>,
    serving: tokio::task::JoinHandle<()>,
}

impl Listener {
    pub fn open(address: SocketAddr) -> io::Result<Arc<Self>> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = open.get(&address).filter(|listener| !listener.serving.is_finished()) {
            return Ok(listener.clone());
        }
        let socket = std::net::TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let socket = tokio::net::TcpListener::from_std(socket)?;
        let slots = Arc::new(Slots::default());
        let router = Router::new().fallback(called).layer(DefaultBodyLimit::max(MAX_BODY)).with_state(slots.clone());
        let serving = tokio::spawn(async move {
            let _ = axum::serve(socket, router).await;
        });
        let listener = Arc::new(Self { slots, serving });
        open.insert(address, listener.clone());
        Ok(listener)
    }

    pub fn expect(&self, token: &str, patience: Duration) -> Expected {
        self.slots.expect(token, patience)
    }

    pub fn wait(&self, token: &str, patience: Duration) -> Waiting {
        self.slots.wait(token, patience)
    }
}

/// The token is the last part of the path, however long it is.
async fn called(State(slots): State<Arc<Slots>>, uri: Uri, body: String) -> (StatusCode, &'static str) {
    let token = uri.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match slots.deliver(token, body) {
        true => (StatusCode::OK, "thank you\n"),
        false => (StatusCode::NOT_FOUND, "no call waits for this token now; retry later\n"),
    }
}
