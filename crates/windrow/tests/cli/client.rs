//! `windrow serve` as a process, and a small HTTP client for it: one request per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Background, Place, Said, wait_until};

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Served {
    pub address: String,
    process: Option<Background>,
}

pub struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Reply {
    /// `None` if the response is incomplete.
    pub fn of(answer: &str) -> Option<Self> {
        let (headers, body) = answer.split_once("\r\n\r\n")?;
        let status = headers.split_whitespace().nth(1)?.parse().ok()?;
        Some(Self { status, headers: headers.to_owned(), body: body.to_owned() })
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }

    #[track_caller]
    pub fn with_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.headers, self.body);
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Served {
    /// On a free port.
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::listening(place, "127.0.0.1:0", arguments)
    }

    /// On the address of an earlier server.
    pub fn start_on(place: &Place, address: &str) -> Self {
        Self::listening(place, address, &[])
    }

    fn listening(place: &Place, address: &str, arguments: &[&str]) -> Self {
        Self::of(place.start(&[&["serve", "--listen", address], arguments].concat()))
    }

    /// Wraps a server that was started in another way.
    pub fn of(process: Background) -> Self {
        let address = process.first_line().strip_prefix("http://").unwrap().to_owned();
        Self { address, process: Some(process) }
    }

    /// Wraps a server at this address.
    pub fn at(address: String, process: Background) -> Self {
        Self { address, process: Some(process) }
    }

    pub fn wait_for_stderr(&self, part: &str) {
        self.process.as_ref().unwrap().wait_for_stderr(part);
    }

    /// On the address of an earlier server, with arguments.
    pub fn start_again(place: &Place, address: &str, arguments: &[&str]) -> Self {
        let process = place.start(&[&["serve", "--listen", address], arguments].concat());
        process.first_line();
        Self { address: address.to_owned(), process: Some(process) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    pub fn post(&self, path: &str) -> Reply {
        self.ask("POST", path, &[], "")
    }

    pub fn post_json(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, &["Content-Type: application/json"], &body.to_string())
    }

    pub fn submit(&self, yaml: &str) -> Reply {
        self.ask("POST", "/api/v1/jobs", &["Content-Type: text/yaml"], yaml)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let mut connection = self.send(method, path, headers, body);
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        Reply::of(&answer).unwrap_or_else(|| panic!("{path}: {answer:?}"))
    }

    /// As HTTP/1.0, so that the response ends with the connection.
    fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> TcpStream {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            head += &format!("Host: {}\r\n", self.address);
        }
        head += &headers.iter().map(|header| format!("{header}\r\n")).collect::<String>();
        head += "\r\n";
        connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
        connection
    }

    pub fn events(&self, path: &str, headers: &[&str]) -> Events {
        let mut lines = BufReader::new(self.send("GET", path, headers, ""));
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.contains("200"), "{line}");
        Events { lines }
    }

    /// The state of the job's latest run.
    pub fn state(&self, job: &str) -> String {
        let job = self.get(&format!("/api/v1/jobs/{job}")).with_status(200).json();
        job["latest_run"]["state"].as_str().unwrap().to_owned()
    }

    pub fn wait_for_state(&self, job: &str, state: &str) {
        wait_until(&format!("{job} to be {state}"), || self.state(job) == state);
    }

    /// Resident memory of the process.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.as_ref().unwrap().pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().unwrap().signal(signal);
    }

    /// Waits for the end after a signal.
    pub fn finish(mut self) -> Said {
        self.process.take().unwrap().finish()
    }

    pub fn kill(mut self) {
        self.process.take().unwrap().kill();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }
}

/// A stream of server-sent events.
pub struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The next event's id and data; `None` when the stream ends.
    pub fn next(&mut self) -> Option<(i64, Value)> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.trim().parse().ok();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                return Some((id.expect("an id comes before the data"), data));
            }
        }
    }

    pub fn until_run_is(&mut self, state: &str) -> Vec<(i64, Value)> {
        let mut seen = Vec::new();
        while let Some((id, event)) = self.next() {
            let over = event["kind"] == "run_state" && event["body"]["state"] == state;
            seen.push((id, event));
            if over {
                return seen;
            }
        }
        panic!("the stream ended before the run was {state}: {seen:?}");
    }
}
