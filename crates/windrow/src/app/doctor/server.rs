//! Whether a server responds at the listen address. It need not run.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::app::doctor::{Check, Patient};

const NAME: &str = "server";
const PATIENCE: Duration = Duration::from_secs(2);

pub async fn check(patient: &Patient<'_>) -> Check {
    let address = &patient.listen;
    let Ok(Ok(connection)) = timeout(PATIENCE, TcpStream::connect(address)).await else {
        return Check::ok(NAME, format!("none on {address}; start one with `windrow serve`"));
    };
    match timeout(PATIENCE, ask(connection, address)).await {
        Ok(Ok(answer)) if answer.starts_with("HTTP/1.") && answer.contains(" 200 ") => {
            Check::ok(NAME, format!("listening on {address}"))
        }
        Ok(Ok(answer)) if answer.starts_with("HTTP/1.") => {
            let line = answer.lines().next().unwrap_or_default().to_owned();
            let finding = format!("the server on {address} is not ready: {line}");
            Check::failure(NAME, finding, format!("see http://{address}/api/v1/health"))
        }
        Ok(_) => Check::ok(NAME, format!("{address} does not speak plain HTTP (TLS?)")),
        Err(_) => {
            let finding = format!("the server on {address} accepts connections but does not respond");
            Check::failure(NAME, finding, "restart it; finished work is kept")
        }
    }
}

async fn ask(mut connection: TcpStream, address: &str) -> std::io::Result<String> {
    let request = format!("GET /readyz HTTP/1.0\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = [0; 64];
    let read = connection.read(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
}
