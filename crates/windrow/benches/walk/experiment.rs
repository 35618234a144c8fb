//! A real experiment with the real binary against a local endpoint that answers at once, both on the
//! same machine.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::walk::home;
use crate::{Figures, peak_mb_of};

pub fn rows(n: u64) -> Figures {
    let home = home();
    let mut endpoint = Command::new(std::env::current_exe().expect("this program"))
        .arg("endpoint")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the endpoint starts");
    let mut base_url = String::new();
    BufReader::new(endpoint.stdout.take().expect("piped")).read_line(&mut base_url).expect("it prints its address");
    write_files(home.path(), n, base_url.trim());
    let began = Instant::now();
    let mut run = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["run", "bench.yaml", "--json"])
        .current_dir(home.path())
        .env("OPENAI_API_KEY", "none")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("windrow starts");
    let mut peak: f64 = 0.0;
    while run.try_wait().expect("a status").is_none() {
        peak = peak.max(peak_mb_of(&run.id().to_string()).unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let seconds = began.elapsed().as_secs_f64();
    let _ = endpoint.kill();
    let _ = endpoint.wait();
    let output: serde_json::Value = serde_json::from_reader(run.stdout.take().expect("piped")).expect("one object");
    assert_eq!(output["evaluators"]["exact"]["pass"], n, "every answer was right: {output}");
    [("experiment_10k.items_per_s".to_owned(), n as f64 / seconds), ("experiment_10k.peak_mb".to_owned(), peak)].into()
}

fn write_files(home: &std::path::Path, n: u64, base_url: &str) {
    let mut rows = std::io::BufWriter::new(std::fs::File::create(home.join("rows.jsonl")).expect("a file"));
    for n in 0..n {
        writeln!(rows, r#"{{"country":"country {n}","capital":"city {n}"}}"#).expect("a row");
    }
    rows.flush().expect("written");
    let job = format!(
        "kind: experiment\nname: bench\ndataset: rows.jsonl\ntarget:\n  openai: {{ model: any, base_url: \"{base_url}\", \
         api_key: \"${{env:OPENAI_API_KEY}}\" }}\n  prompt: \"Capital of {{{{ country }}}}?\"\nevaluators:\n  \
         - exact: {{ expect: \"{{{{ capital }}}}\" }}\nconcurrency: 128\n"
    );
    std::fs::write(home.join("bench.yaml"), job).expect("a job file");
}
