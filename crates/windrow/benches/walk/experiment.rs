//! Real experiments with the real binary against a local endpoint that answers at once: few rows, many rows, and a
//! retry of a few among many.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::endpoint::REFUSED;
use crate::walk::home;
use crate::{Figures, peak_mb_of};

const ONE: &str = "  - exact: { expect: \"{{ capital }}\" }\n";
const THREE: &str = "  - exact: { expect: \"{{ capital }}\" }\n  - contains: { expect: city }\n  - \
                     levenshtein: { expect: \"{{ capital }}\", threshold: 0.9 }\n";
/// Rows that the endpoint rejects at first, for the retry.
const FAILING: u64 = 100;

pub fn rows(n: u64) -> Figures {
    let home = home();
    let endpoint = Endpoint::start();
    write_files(home.path(), n, 0, &endpoint.url, ONE);
    let ran = Ran::to_end(home.path(), &["run", "bench.yaml", "--json"]);
    assert_eq!(ran.result["evaluators"]["exact"]["pass"], n, "every answer was right: {}", ran.result);
    [
        ("experiment_10k.items_per_s".to_owned(), n as f64 / ran.seconds),
        ("experiment_10k.peak_mb".to_owned(), ran.peak_mb),
    ]
    .into()
}

/// Few rows and many, each judged by three evaluators. Measured alternately, twice, and the better result counts, so
/// that only the size is compared.
pub fn sizes(few: u64, many: u64) -> Figures {
    let mut figures = Figures::new();
    for _ in 0..2 {
        for (label, n) in [("few", few), ("many", many)] {
            let home = home();
            let endpoint = Endpoint::start();
            write_files(home.path(), n, 0, &endpoint.url, THREE);
            let ran = Ran::to_end(home.path(), &["run", "bench.yaml", "--json"]);
            for evaluator in ["exact", "contains", "levenshtein"] {
                assert_eq!(ran.result["evaluators"][evaluator]["pass"], n, "{evaluator}: {}", ran.result);
            }
            keep(&mut figures, &format!("experiment_3x.items_per_s_{label}"), n as f64 / ran.seconds, f64::max);
            keep(&mut figures, &format!("experiment_3x.peak_mb_{label}"), ran.peak_mb, f64::min);
        }
    }
    figures
}

fn keep(figures: &mut Figures, name: &str, value: f64, better: fn(f64, f64) -> f64) {
    let kept = figures.get(name).map_or(value, |before| better(*before, value));
    figures.insert(name.to_owned(), kept);
}

/// Time from the command to the first call, for a retry of a few among many rows.
pub fn retry(many: u64) -> Figures {
    let home = home();
    let endpoint = Endpoint::start();
    write_files(home.path(), many, FAILING, &endpoint.url, THREE);
    let first = Ran::to_end(home.path(), &["run", "bench.yaml", "--json"]);
    assert_eq!(first.result["items"]["failed"], FAILING, "{}", first.result);
    let began = Instant::now();
    let mut run = windrow(home.path(), &["jobs", "retry", "bench", "--json"]);
    endpoint.wait_for_a_second_chance();
    let first_call_ms = began.elapsed().as_secs_f64() * 1e3;
    let mut text = String::new();
    run.stdout.take().expect("piped").read_to_string(&mut text).expect("what it says");
    run.wait().expect("it ends");
    let result: Value = serde_json::from_str(&text).expect("one object");
    assert_eq!(result["items"]["succeeded"], FAILING, "only what failed was tried, and now it went well: {result}");
    [("experiment_3x.retry_first_call_ms".to_owned(), first_call_ms)].into()
}

/// Measurements of one process.
pub struct Ran {
    pub result: Value,
    pub seconds: f64,
    pub peak_mb: f64,
}

impl Ran {
    pub fn to_end(home: &Path, arguments: &[&str]) -> Self {
        let began = Instant::now();
        let mut run = windrow(home, arguments);
        let mut peak_mb: f64 = 0.0;
        while run.try_wait().expect("a status").is_none() {
            peak_mb = peak_mb.max(peak_mb_of(&run.id().to_string()).unwrap_or(0.0));
            std::thread::sleep(Duration::from_millis(5));
        }
        let seconds = began.elapsed().as_secs_f64();
        let result = serde_json::from_reader(run.stdout.take().expect("piped")).expect("one object");
        Self { result, seconds, peak_mb }
    }
}

fn windrow(home: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(arguments)
        .current_dir(home)
        .env("OPENAI_API_KEY", "none")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("windrow starts")
}

/// The endpoint as a process. It prints its address, and a line when a rejected question is asked again.
pub struct Endpoint {
    process: Child,
    said: std::sync::Mutex<BufReader<std::process::ChildStdout>>,
    pub url: String,
}

impl Endpoint {
    pub fn start() -> Self {
        let me = std::env::current_exe().expect("this program");
        let mut process = Command::new(me).arg("endpoint").stdout(Stdio::piped()).spawn().expect("the endpoint starts");
        let mut said = BufReader::new(process.stdout.take().expect("piped"));
        let mut url = String::new();
        said.read_line(&mut url).expect("it prints its address");
        Self { process, said: said.into(), url: url.trim().to_owned() }
    }

    fn wait_for_a_second_chance(&self) {
        let mut line = String::new();
        self.said.lock().expect("no panics here").read_line(&mut line).expect("it says when it is asked again");
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The endpoint rejects the last `failing` rows on their first request.
fn write_files(home: &Path, n: u64, failing: u64, base_url: &str, evaluators: &str) {
    let mut rows = std::io::BufWriter::new(std::fs::File::create(home.join("rows.jsonl")).expect("a file"));
    for no in 0..n {
        let country = if no < n - failing { "country" } else { REFUSED };
        writeln!(rows, r#"{{"country":"{country} {no}","capital":"city {no}"}}"#).expect("a row");
    }
    rows.flush().expect("written");
    let job = format!(
        "kind: experiment\nname: bench\ndataset: rows.jsonl\ntarget:\n  openai: {{ model: any, base_url: \"{base_url}\", \
         api_key: \"${{env:OPENAI_API_KEY}}\" }}\n  prompt: \"Capital of {{{{ country }}}}?\"\nevaluators:\n{evaluators}\
         concurrency: 128\n"
    );
    std::fs::write(home.join("bench.yaml"), job).expect("a job file");
}
