//! `windrow mock connect` as a process, and its statistics.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::client::Reply;
use crate::place::{Background, Place};

pub struct MockConnect {
    /// URL of the first cluster, `east`.
    pub url: String,
    process: Option<Background>,
}

impl MockConnect {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::start_on(place, 0, arguments)
    }

    pub fn start_on(place: &Place, port: u16, arguments: &[&str]) -> Self {
        let port = port.to_string();
        let standing = ["mock-connect", "--port", &port, "--delay", "20ms", "--hang", "200ms"];
        let process = place.start(&[&standing, arguments].concat());
        Self { url: process.first_line(), process: Some(process) }
    }

    pub fn origin(&self) -> &str {
        self.url.strip_suffix("/east").unwrap()
    }

    pub fn stats(&self) -> Value {
        self.get("/_stats")
    }

    /// Number of calls that took effect, by kind.
    pub fn calls(&self, kind: &str) -> u64 {
        self.get("/_calls")[kind].as_u64().unwrap_or(0)
    }

    pub fn get(&self, path: &str) -> Value {
        self.exchange("GET", path, "").json()
    }

    pub fn put(&self, path: &str, body: &Value) {
        self.exchange("PUT", path, &body.to_string());
    }

    pub fn patch(&self, path: &str, body: &Value) {
        self.exchange("PATCH", path, &body.to_string());
    }

    /// Adds transactions of two rows each to the database that running connectors read.
    pub fn insert(&self, transactions: u64) {
        self.exchange("POST", &format!("/_insert/{transactions}"), "");
    }

    /// The worker of a cluster starts again, and for a while has nothing to show.
    pub fn restart_worker(&self, cluster: &str, lasts: Duration) {
        self.exchange("POST", &format!("/_start/{cluster}/{}", lasts.as_millis()), "");
    }

    /// `TRANSACTION.ROW`, in the order in which connectors of this name sent them.
    pub fn sent(&self, name: &str) -> Vec<String> {
        self.stats();
        serde_json::from_value(self.get("/_sent")[name].clone()).unwrap_or_default()
    }

    /// As HTTP/1.0, so that the response ends with the connection.
    fn exchange(&self, method: &str, path: &str, body: &str) -> Reply {
        let mut connection = TcpStream::connect(self.origin().trim_start_matches("http://")).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
        connection.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        Reply::of(&answer).unwrap_or_else(|| panic!("{path}: {answer:?}"))
    }

    /// All connectors by cluster and name.
    pub fn connectors(&self) -> BTreeMap<(String, String), Value> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let stats = self.stats();
        let all = stats["connectors"].as_array().unwrap().iter();
        all.map(|one| ((text(&one["cluster"]), text(&one["name"])), one.clone())).collect()
    }
}

impl Drop for MockConnect {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }
}
