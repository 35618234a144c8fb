//! `windrow mock source` as a process, and its statistics.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::client::Reply;
use crate::place::{Background, Place};

pub struct MockSource {
    pub url: String,
    process: Option<Background>,
}

impl MockSource {
    /// On a free port.
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let process = place.start(&[&["mock-source", "--port", "0"], arguments].concat());
        Self { url: process.first_line(), process: Some(process) }
    }

    fn exchange(&self, method: &str, path: &str) -> Reply {
        let mut stream = TcpStream::connect(self.url.strip_prefix("http://").unwrap()).unwrap();
        stream.write_all(format!("{method} {path} HTTP/1.0\r\ncontent-length: 0\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        Reply::of(&answer).unwrap()
    }

    pub fn stats(&self) -> Value {
        self.exchange("GET", "/_stats").json()
    }

    pub fn pages(&self) -> i64 {
        self.stats()["pages"].as_i64().unwrap()
    }

    /// Sets the number of records.
    pub fn grow(&self, records: usize) {
        self.exchange("POST", &format!("/_grow/{records}")).with_status(204);
    }
}

impl Drop for MockSource {
    fn drop(&mut self) {
        self.process.take().unwrap().kill();
    }
}
