//! `windrow mock model` as a process, for tests with real dialects and real faults.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::client::Reply;
use crate::place::{Background, Place};

pub struct MockModel {
    /// Without the `/v1`.
    pub origin: String,
    process: Option<Background>,
}

impl MockModel {
    /// On a free port and without latency.
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let standing = ["mock-model", "--port", "0", "--latency", "0ms"];
        let process = place.start(&[&standing, arguments].concat());
        let url = process.first_line();
        Self { origin: url.strip_suffix("/v1").unwrap().to_owned(), process: Some(process) }
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.try_post(path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn try_post(&self, path: &str, body: &Value) -> std::io::Result<Reply> {
        let body = body.to_string();
        let head =
            format!("POST {path} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        self.exchange(&(head + &body))
    }

    pub fn stats(&self) -> Value {
        self.exchange("GET /_stats?bodies=all HTTP/1.0\r\n\r\n").unwrap().json()
    }

    /// As HTTP/1.0: the response ends with the connection, and no client library is needed.
    fn exchange(&self, request: &str) -> std::io::Result<Reply> {
        let mut connection = TcpStream::connect(self.origin.trim_start_matches("http://"))?;
        connection.set_read_timeout(Some(Duration::from_secs(10)))?;
        connection.write_all(request.as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        let reply = Reply::of(&answer).ok_or_else(|| std::io::Error::other(format!("broken answer {answer:?}")))?;
        Ok(Reply { headers: reply.headers.to_lowercase(), ..reply })
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }
}
