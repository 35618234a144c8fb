//! A TLS listener for `axum::serve`. Handshakes run concurrently, so that a slow client does not block others.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::node::listen::certificate::Certificate;
use crate::node::listen::plain::PlainListener;

/// Timeout of a handshake.
const PATIENCE: Duration = Duration::from_secs(10);
const HANDSHAKES: usize = 1024;
const READY: usize = 64;

type Connection = (TlsStream<TcpStream>, SocketAddr);

pub struct TlsListener {
    ready: mpsc::Receiver<Connection>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl TlsListener {
    pub fn start(listener: PlainListener, certificate: Arc<Certificate>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let acceptor = TlsAcceptor::from(certificate.config().map_err(io::Error::other)?);
        let (ready, waiting) = mpsc::channel(READY);
        let accepting = tokio::spawn(accept_all(listener, acceptor, ready));
        Ok(Self { ready: waiting, address, accepting })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Connection {
        match self.ready.recv().await {
            Some(connection) => connection,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn accept_all(mut listener: PlainListener, acceptor: TlsAcceptor, ready: mpsc::Sender<Connection>) {
    let places = Arc::new(Semaphore::new(HANDSHAKES));
    while let Ok(place) = places.clone().acquire_owned().await {
        let (connection, peer) = listener.accept().await;
        let (acceptor, ready) = (acceptor.clone(), ready.clone());
        tokio::spawn(async move {
            let _place = place;
            match tokio::time::timeout(PATIENCE, acceptor.accept(connection)).await {
                // The receiver is gone when the server closes.
                Ok(Ok(stream)) => drop(ready.send((stream, peer)).await),
                Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
            }
        });
    }
}
