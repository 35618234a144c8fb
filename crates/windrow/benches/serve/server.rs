//! `windrow serve` as a process, and the requests of the bench.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

pub struct Server {
    process: Child,
    pub address: String,
    home: TempDir,
}

impl Server {
    pub fn start() -> Self {
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let (process, line) = spawn(&home, &["serve", "--listen", "127.0.0.1:0"]);
        let address = line.strip_prefix("http://").expect("an address").to_owned();
        Self { process, address, home }
    }

    /// An endpoint with this latency; stopped when the returned value is dropped.
    pub fn endpoint(&self, latency: &str) -> Endpoint {
        let (process, url) = spawn(&self.home, &["mock-model", "--port", "0", "--latency", latency]);
        Endpoint { process, url }
    }

    /// A job over this many rows, whose answers are in the rows.
    pub fn submit_recorded(&self, name: &str, rows: usize) {
        let target = "  recorded: { field: answer }";
        self.submit(name, rows, target, "  - exact: { expect: \"{{ capital }}\" }", 256);
    }

    /// The same with calls to an endpoint.
    pub fn submit_asking(&self, name: &str, rows: usize, endpoint: &Endpoint, concurrency: usize) {
        let url = &endpoint.url;
        let target = format!(
            "  openai: {{ model: mock, base_url: \"{url}\", api_key: \"${{env:OPENAI_API_KEY}}\" }}\n  \
             prompt: \"Say: {{{{ answer }}}}\""
        );
        self.submit(name, rows, &target, "  - exact: { expect: \"{{ capital }}\" }", concurrency);
    }

    fn submit(&self, name: &str, rows: usize, target: &str, evaluators: &str, concurrency: usize) {
        let mut data = String::new();
        for no in 0..rows {
            let _ = writeln!(data, r#"{{"answer":"{name} {no}","capital":"{name} {no}"}}"#);
        }
        let files = self.home.path().join(".windrow/files");
        std::fs::write(files.join(format!("{name}.jsonl")), data).expect("rows");
        let file = format!(
            "kind: experiment\nname: {name}\ndataset: {name}.jsonl\ntarget:\n{target}\nevaluators:\n{evaluators}\n\
             concurrency: {concurrency}\n"
        );
        let (status, body) = self.ask("POST", "/api/v1/jobs", &file);
        assert_eq!(status, 201, "{body}");
    }

    /// Items per second of the finished run.
    pub fn rate_of(&self, name: &str, rows: usize) -> f64 {
        loop {
            let job = self.get(&format!("/api/v1/jobs?name={name}"));
            let run = &job["jobs"][0]["latest_run"];
            if run["state"] == "completed" {
                assert_eq!(run["items"]["succeeded"], rows, "{run}");
                return rows as f64 / (run["duration_ms"].as_f64().expect("an end") / 1e3);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(&self.address).expect("the server listens");
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nContent-Type: text/yaml\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        connection.write_all(head.as_bytes()).expect("sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("answered");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
        (head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"), body.to_owned())
    }

    pub fn peak_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).expect("a number") / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub struct Endpoint {
    process: Child,
    url: String,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the process and its first line of output.
fn spawn(home: &TempDir, arguments: &[&str]) -> (Child, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(arguments)
        .current_dir(home.path())
        .env("OPENAI_API_KEY", "none")
        .env_remove("WINDROW_DATA")
        .stdout(Stdio::piped())
        .spawn()
        .expect("windrow starts");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it is");
    (process, line.trim().to_owned())
}
