//! Time of a server to accept a job of a million rows, from a file and from an imported dataset, and to its first item.
//! Uses the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Figures;
use crate::walk::home;

const PATIENCE: Duration = Duration::from_secs(600);
const JOB: &str = "kind: experiment\nname: NAME\ndataset: DATASET\ntarget: { recorded: { field: answer } }\n\
                   evaluators:\n  - exact: { expect: \"{{ answer }}\" }\n";

pub fn rows(count: u64) -> Figures {
    let home = home();
    let data = home.path().join("data");
    std::fs::create_dir_all(data.join("files")).expect("a folder");
    let lines: String =
        (0..count).map(|n| format!("{{\"id\":{n},\"question\":\"q{n}\",\"answer\":\"a\"}}\n")).collect();
    std::fs::write(data.join("files/rows.jsonl"), &lines).expect("rows");
    let server = Server::start(&data);
    let imported = server.ask("POST", "/api/v1/datasets/rows", "application/x-ndjson", &lines);
    assert!(imported.contains("201 Created"), "{imported}");
    let mut figures = Figures::new();
    for (name, dataset) in [("file", "rows.jsonl"), ("imported", "{ name: rows }")] {
        let job = JOB.replace("NAME", name).replace("DATASET", dataset);
        let began = Instant::now();
        let taken = server.ask("POST", "/api/v1/jobs", "text/yaml", &job);
        figures.insert(format!("server.submit_ms_{name}"), began.elapsed().as_secs_f64() * 1e3);
        assert!(taken.contains("201 Created"), "{taken}");
        while !server.ask("GET", &format!("/api/v1/jobs/{name}/items?limit=1"), "", "").contains("\"ordinal\":0") {
            assert!(began.elapsed() < PATIENCE, "no item of {name} appeared");
        }
        figures.insert(format!("server.first_item_ms_{name}"), began.elapsed().as_secs_f64() * 1e3);
        server.ask("POST", &format!("/api/v1/jobs/{name}/terminate"), "", "");
    }
    figures
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its stdout")).read_line(&mut line).expect("its address");
        Self { process, address: line.trim().trim_start_matches("http://").to_owned() }
    }

    /// The whole response, head and body.
    fn ask(&self, method: &str, path: &str, media_type: &str, body: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).expect("the server listens");
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body.as_bytes())).expect("sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("answered");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}
