//! Plain TCP connections.

use std::io;
use std::net::SocketAddr;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

/// Send buffer of a connection. Without a bound, a client that does not read costs megabytes.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 64 << 10;

pub struct PlainListener(pub TcpListener);

impl Listener for PlainListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (connection, peer) = Listener::accept(&mut self.0).await;
        // Small responses must not wait for the previous acknowledgement.
        let _ = connection.set_nodelay(true);
        keep_short_queue(&connection);
        (connection, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[cfg(target_os = "linux")]
fn keep_short_queue(connection: &TcpStream) {
    let _ = socket2::SockRef::from(connection).set_tcp_notsent_lowat(UNSENT_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn keep_short_queue(_: &TcpStream) {}
