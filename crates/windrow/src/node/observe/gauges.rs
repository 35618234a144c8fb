//! Gauges: the numbers of a reading. They describe the whole database unless their text names this process.

use windrow_model::health::Check;
use windrow_model::metric::Metric;
use windrow_model::state::RunState;

use crate::node::observe::alert::Rule;
use crate::node::observe::reading::Reading;

/// B16: the environment that `serve --environment` names; without one, metrics of use have no label.
const USAGE: &[&str] = &["environment"];

const BUILD: Metric = Metric::gauge("windrow_build_info", &["version"], "Always 1; the label is the version.");
const WORKERS: Metric = Metric::gauge("windrow_workers", USAGE, "Worker slots of this process.");
const BUSY: Metric = Metric::gauge("windrow_workers_busy", USAGE, "Items running in this process (B12: worker use).");
const QUEUE: Metric = Metric::gauge(
    "windrow_queue_items",
    USAGE,
    "Claimed items that wait for a worker slot of this process (B12: queue use).",
);
const QUEUE_SIZE: Metric =
    Metric::gauge("windrow_queue_capacity", USAGE, "Maximum number of claimed items that wait for a worker slot.");
const RUNS: Metric = Metric::gauge("windrow_runs", &["state"], "Unfinished runs, by state.");
const ITEMS: Metric = Metric::gauge(
    "windrow_items",
    &["state"],
    "Items of unfinished runs: queued, or running (reported but not yet archived included).",
);
const LOGGED: Metric = Metric::gauge("windrow_items_logged", &[], "Reported items that wait to be archived.");
const LAG: Metric =
    Metric::gauge("windrow_archive_lag_seconds", &[], "Age of the oldest reported item that is not archived.");
const BACKLOG: Metric =
    Metric::gauge("windrow_outbox_backlog_events", &[], "Events of the outbox that this process has not relayed yet.");
const FINDINGS: Metric = Metric::gauge(
    "windrow_health_findings",
    &["check"],
    "Findings of the health checks (I10): task.zombie, batch.stall, run.stall, slice.pending.timeout, plan.slicing.timeout.",
);
const ALERTS: Metric = Metric::gauge("windrow_alerts_active", &["rule"], "Active alerts, by rule.");
const UP: Metric = Metric::gauge("windrow_store_up", &[], "1 if the database responded to the last check, else 0.");
const DISK_FREE: Metric =
    Metric::gauge("windrow_disk_free_bytes", &[], "Free space of the file system of the data directory.");
const DISK_SIZE: Metric =
    Metric::gauge("windrow_disk_size_bytes", &[], "Size of the file system of the data directory.");
const MEMORY: Metric = Metric::gauge("process_resident_memory_bytes", &[], "Resident memory of this process.");
const CPU: Metric = Metric::counter("process_cpu_seconds_total", &[], "CPU time of this process, in whole seconds.");
const CPUS: Metric = Metric::gauge("process_cpus", &[], "CPUs that this process may use.");
const FDS: Metric = Metric::gauge("process_open_fds", &[], "Open file descriptors of this process.");
const STARTED: Metric =
    Metric::gauge("process_start_time_seconds", &[], "Start time of this process, in seconds since 1970.");

pub const METRICS: &[Metric] = &[
    BUILD, WORKERS, BUSY, QUEUE, QUEUE_SIZE, RUNS, ITEMS, LOGGED, LAG, BACKLOG, FINDINGS, ALERTS, UP, DISK_FREE,
    DISK_SIZE, MEMORY, CPU, CPUS, FDS, STARTED,
];

pub fn show(reading: &Reading, environment: &str) {
    set(BUILD, Some(env!("CARGO_PKG_VERSION")), 1.0);
    let load = &reading.load;
    for (metric, value) in [(WORKERS, load.workers), (BUSY, load.busy), (QUEUE, load.queued), (QUEUE_SIZE, load.queue)]
    {
        match environment {
            "" => metrics::gauge!(metric.name).set(value as f64),
            named => metrics::gauge!(metric.name, metric.labels[0] => named.to_owned()).set(value as f64),
        }
    }
    set(UP, None, f64::from(u8::from(reading.vitals.is_ok())));
    set(STARTED, None, reading.started_at.0 as f64 / 1000.0);
    for (metric, value) in [
        (DISK_FREE, reading.disk.map(|disk| disk.free)),
        (DISK_SIZE, reading.disk.map(|disk| disk.size)),
        (MEMORY, reading.memory.map(|memory| memory.used)),
        (CPUS, reading.cpu.map(|cpu| cpu.count)),
        (FDS, reading.open_files),
    ] {
        value.into_iter().for_each(|value| set(metric, None, value as f64));
    }
    if let Some(cpu) = reading.cpu {
        metrics::counter!(CPU.name).absolute(cpu.used_ms as u64 / 1000);
    }
    // The last values of the database remain while it does not respond; `windrow_store_up` is 0.
    let Ok(vitals) = &reading.vitals else { return };
    for state in RunState::ALL.iter().filter(|state| !state.is_final()) {
        let runs = vitals.runs.iter().filter(|run| run.state == *state).count();
        set(RUNS, Some(state.as_str()), runs as f64);
    }
    let sum = |count: fn(&windrow_model::counters::Counters) -> i64| {
        vitals.runs.iter().map(|run| count(&run.counters)).sum::<i64>() as f64
    };
    set(ITEMS, Some("queued"), sum(|counters| counters.queued));
    set(ITEMS, Some("running"), sum(|counters| counters.running));
    set(LOGGED, None, vitals.logged as f64);
    let lag_ms = vitals.oldest_logged_at.map_or(0, |at| (reading.now - at).max(0));
    set(LAG, None, lag_ms as f64 / 1000.0);
    set(BACKLOG, None, (vitals.newest_event - load.relayed).max(0) as f64);
    for check in Check::ALL {
        set(FINDINGS, Some(check.as_str()), vitals.count(*check) as f64);
    }
}

pub fn show_alerts(active: impl Fn(Rule) -> usize) {
    Rule::ALL.iter().for_each(|rule| set(ALERTS, Some(rule.as_str()), active(*rule) as f64));
}

fn set(metric: Metric, label: Option<&'static str>, value: f64) {
    match label {
        Some(label) => metrics::gauge!(metric.name, metric.labels[0] => label).set(value),
        None => metrics::gauge!(metric.name).set(value),
    }
}
