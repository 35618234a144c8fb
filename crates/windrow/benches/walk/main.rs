//! `make bench`: measures the complete path of an item. Each figure comes from its own process, so that peak memory is
//! per figure; compared figures come from the same run.

mod endpoint;
mod experiment;
mod nodes;
mod noop;
mod operation;
mod raw;
mod report;
mod restart;
mod results;
mod results_store;
#[path = "../../src/app/views/shelf.rs"]
mod shelf;
mod submit;
mod verbs;
mod walk;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Name and value; the names are a contract (see docs/benchmarks.md).
pub type Figures = BTreeMap<String, f64>;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // `cargo bench` passes `--bench`; a child process measures one figure.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["piece", name] => println!("{}", serde_json::to_string(&piece(name)).expect("figures are numbers")),
        ["endpoint"] => endpoint::serve(),
        ["node", database] => nodes::node(database),
        filters => report::write(measure(filters), filters.is_empty()),
    }
}

const PIECES: [&str; 15] = [
    "raw",
    "memory",
    "sqlite_10k",
    "sqlite_100k",
    "sqlite_1m",
    "restart",
    "slot_refill",
    "submit_1m",
    "experiment_10k",
    "experiment_3x",
    "experiment_3x_retry",
    "operation_http",
    "operation_http_100k",
    "results",
    "results_store",
];

/// Only on request, because they need a server.
const ON_SERVERS: [&str; 7] = [
    "postgres_100k",
    "mariadb_100k",
    "postgres_nodes",
    "mariadb_nodes",
    "postgres_verbs",
    "mariadb_verbs",
    "results_store_postgres",
];

fn measure(filters: &[&str]) -> Figures {
    let mut all = Figures::new();
    let asked = ON_SERVERS.iter().filter(|name| filters.contains(name));
    for name in PIECES.iter().filter(|name| filters.is_empty() || filters.contains(name)).chain(asked) {
        eprintln!("measuring {name} …");
        let me = std::env::current_exe().expect("this program");
        let child = Command::new(me).args(["piece", name]).stdout(Stdio::piped()).stderr(Stdio::inherit()).output();
        let output = child.expect("the piece starts");
        assert!(output.status.success(), "{name} failed");
        let figures: Figures = serde_json::from_slice(&output.stdout).expect("a piece prints its figures");
        for (name, value) in &figures {
            eprintln!("  {name} = {value:.1}");
        }
        all.extend(figures);
    }
    all
}

fn piece(name: &str) -> Figures {
    match name {
        "raw" => raw::row_writes(),
        "memory" => walk::memory(200_000),
        "sqlite_10k" => walk::sqlite(10_000, "10k"),
        "sqlite_100k" => walk::sqlite(100_000, "100k"),
        "sqlite_1m" => walk::sqlite(1_000_000, "1m"),
        "postgres_100k" => walk::server("postgres", size("ITEMS", 100_000)),
        "mariadb_100k" => walk::server("mariadb", size("ITEMS", 100_000)),
        "postgres_nodes" => nodes::shared("postgres", size("NODES", 2), size("ITEMS", 100_000)),
        "mariadb_nodes" => nodes::shared("mariadb", size("NODES", 2), size("ITEMS", 100_000)),
        "postgres_verbs" => verbs::costs("postgres"),
        "mariadb_verbs" => verbs::costs("mariadb"),
        "restart" => restart::first_claim(1_000_000),
        "slot_refill" => walk::slot_refill(),
        "submit_1m" => submit::rows(size("SUBMITTED", 1_000_000)),
        "experiment_10k" => experiment::rows(10_000),
        "experiment_3x" => experiment::sizes(size("FEW", 10_000), size("MANY", 200_000)),
        "experiment_3x_retry" => experiment::retry(size("MANY", 200_000)),
        "operation_http" => operation::targets(10_000, name),
        "operation_http_100k" => operation::targets(size("TARGETS", 100_000), name),
        "results" => results::questions(size("RESULTS", 1_000_000)),
        "results_store" => results_store::sqlite(size("ITEMS", 100_000)),
        "results_store_postgres" => results_store::postgres(size("ITEMS", 100_000)),
        other => panic!("no piece {other}; there are {PIECES:?}"),
    }
}

/// Other sizes for trying the bench: `WINDROW_BENCH_FEW`, `WINDROW_BENCH_MANY`, `WINDROW_BENCH_SUBMITTED`,
/// `WINDROW_BENCH_ITEMS`, `WINDROW_BENCH_NODES`, `WINDROW_BENCH_TARGETS`, `WINDROW_BENCH_RESULTS`.
fn size(name: &str, standard: u64) -> u64 {
    let given = std::env::var(format!("WINDROW_BENCH_{name}")).ok();
    given.map_or(standard, |text| text.parse().expect("a number of rows"))
}

/// Peak memory of this process, in MB.
pub fn peak_mb() -> f64 {
    peak_mb_of("self").expect("this process has a status")
}

pub fn peak_mb_of(pid: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}
