//! Mock servers for examples and tests.

pub mod connect;
pub mod model;
pub mod source;

use std::io::Write;

use tokio::net::TcpListener;

use crate::error::{Error, Exit, Result};

/// Prints the base URL of the mock, which ends with `path`.
async fn listen(port: u16, path: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| {
        let what = format!("cannot listen on 127.0.0.1:{port}: {error}");
        Error::new(what, "choose another port with --port, or --port 0 for any free one")
    })?;
    let address =
        listener.local_addr().map_err(|error| Error::new(format!("cannot read the address: {error}"), "try again"))?;
    println!("http://{address}{path}");
    let _ = std::io::stdout().flush();
    Ok(listener)
}

/// Until Ctrl-C.
async fn serve(server: impl Future<Output = std::io::Result<()>>) -> Result<Exit> {
    tokio::select! {
        served = server => {
            served.map_err(|error| Error::new(format!("the mock server failed: {error}"), "start it again"))?;
        }
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(Exit::Passed)
}
