//! Writes the figures: `target/bench.json` for machines, `docs/benchmarks.md` for people.

use std::fmt::Write;
use std::path::Path;

use crate::Figures;

/// Where the section begins that `make bench-serve` writes.
const SERVER: &str = "\n## The server";

pub fn write(mut figures: Figures, complete: bool) {
    derive(&mut figures);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let json = serde_json::to_string_pretty(&figures).expect("figures are numbers");
    std::fs::write(root.join("target/bench.json"), json + "\n").expect("target/bench.json");
    let table = table(&figures);
    println!("{table}");
    // A partial run would leave a page that mixes machines and days.
    if complete {
        let path = root.join("docs/benchmarks.md");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let of_server = before.find(SERVER).map_or("", |at| &before[at..]);
        std::fs::write(&path, format!("{}{of_server}", page(&table))).expect("docs/benchmarks.md");
    }
}

/// A ratio against something measured in the same run says more than a bare time.
fn derive(figures: &mut Figures) {
    if let (Some(walk), Some(raw)) = (figures.get("sqlite.items_per_s"), figures.get("sqlite.raw_row_writes_per_s")) {
        figures.insert("sqlite.raw_rows_per_item".into(), raw / walk);
    }
    if let (Some(big), Some(small)) = (figures.get("sqlite.items_per_s_1m"), figures.get("sqlite.items_per_s_100k")) {
        figures.insert("sqlite.rate_1m_over_100k".into(), big / small);
    }
    for (ratio, many, few) in [
        ("operation_http.peak_100k_over_10k", "operation_http_100k.peak_mb", "operation_http.peak_mb"),
        ("experiment_3x.rate_many_over_few", "experiment_3x.items_per_s_many", "experiment_3x.items_per_s_few"),
        ("experiment_3x.peak_many_over_few", "experiment_3x.peak_mb_many", "experiment_3x.peak_mb_few"),
    ] {
        if let (Some(many), Some(few)) = (figures.get(many), figures.get(few)) {
            figures.insert(ratio.into(), many / few);
        }
    }
}

fn meaning(name: &str) -> &'static str {
    match name {
        "sqlite.items_per_s" => "items/s through the complete walk, one paid step each, 100k items, `synchronous=FULL`",
        "sqlite.items_per_s_10k" | "sqlite.items_per_s_100k" | "sqlite.items_per_s_1m" => "items/s, by number of items",
        "memory.items_per_s" => "items/s on the memory store, 200k items",
        "sqlite.raw_row_writes_per_s" => "bare rows of the same shapes, 1,000 per commit",
        "sqlite.raw_rows_per_item" => "bare row writes in the time of one item",
        "sqlite.rate_1m_over_100k" => "rate at 1M items / rate at 100k items",
        "sqlite.peak_mb_10k" | "sqlite.peak_mb_100k" | "sqlite.peak_mb_1m" => "peak memory of the process, MB",
        "sqlite.restart_first_claim_ms" => "open, recover and claim with 1M unfinished items, ms",
        "slot_refill_ms_p50" | "slot_refill_ms_p99" => {
            "from the end of an item to the start of the next one in its worker slot, ms"
        }
        "experiment_10k.items_per_s" => "`windrow run`, 10k rows, local endpoint on the same two cores",
        "experiment_10k.peak_mb" => "peak memory of that run, MB",
        "experiment_3x.items_per_s_few" => "`windrow run`, three evaluators, 10k rows, the better of two runs",
        "experiment_3x.items_per_s_many" => "the same with 200k rows",
        "experiment_3x.rate_many_over_few" => "rate at 200k rows / rate at 10k rows; at least 0.8",
        "experiment_3x.peak_mb_few" => "peak memory at 10k rows, MB",
        "experiment_3x.peak_mb_many" => "peak memory at 200k rows, MB",
        "experiment_3x.peak_many_over_few" => "peak memory at 200k rows / peak memory at 10k rows",
        "experiment_3x.retry_first_call_ms" => {
            "`windrow jobs retry` with 100 failed of 200k rows: time to the first call, ms; at most 2,000"
        }
        "operation_http.items_per_s" => {
            "`windrow run` of an `http` operation: 10k targets, each read, changed and verified; at least 1,000"
        }
        "operation_http.rollback_items_per_s" => "the rollback of that operation with `windrow jobs rollback`",
        "operation_http.peak_mb" | "operation_http_100k.peak_mb" => "peak memory of both commands, MB",
        "operation_http_100k.items_per_s" => "the same over 100k targets; at least 4,000",
        "operation_http_100k.rollback_items_per_s" => "the rollback over 100k targets",
        "operation_http.peak_100k_over_10k" => "peak memory at 100k targets / peak memory at 10k targets",
        "server.submit_ms_file" | "server.submit_ms_imported" => {
            "submission of a job of 1M rows to a server: time to the response, ms; at most 1,000"
        }
        "server.first_item_ms_file" | "server.first_item_ms_imported" => {
            "after that submission: time to the first item in the list, ms"
        }
        "results.build_s" => "result table, 1M rows, 2 evaluators, 8 fields: from rows to columns, s",
        "results.peak_mb" => "peak memory of that with one table, MB",
        "results_store.sqlite_items_per_s" => "a run on SQLite while nobody looks at its result table, items/s",
        "results_store.sqlite_items_per_s_watched" => "the same while the table is kept up, items/s",
        "results_store.sqlite_cost_percent" => "what that costs the run, %; at most 10",
        "results_store.sqlite_rows_read_per_item" => "rows read again for the table, per item",
        "results_store.sqlite_peak_mb" => "peak memory of engine and table, MB",
        "results_store.postgres_items_per_s" => "a run on PostgreSQL while nobody looks at its result table, items/s",
        "results_store.postgres_items_per_s_watched" => "the same while the table is kept up, items/s",
        "results_store.postgres_cost_percent" => "what that costs the run, %; at most 10",
        "results_store.postgres_rows_read_per_item" => "rows read again for the table, per item",
        "results_store.postgres_peak_mb" => "peak memory of engine and table, MB",
        "results.header_ms" => "header and aggregates of all rows, ms; at most 100",
        "results.first_page_ms" => "50 rows in the order of the dataset, ms; at most 200",
        "results.sort_ms" => "rows in the order of a latency, with a filter, and the first 50, ms; at most 600",
        "results.text_ms" => "search in input, output and reasons, ms; at most 1,500",
        "results.offset_ms" => "50 rows at offset 900,000 of a sorted view, ms; at most 150",
        "results.facets_ms" => "facets of 8 fields, filtered, ms; at most 600",
        "results.group_ms" => "groups of a field with 40 values, 2 metrics each, ms; at most 600",
        "results.catch_up_ms" => "1,000 scattered rows changed, ms",
        "results.compare_ms" => "paired with another run of 1M rows: pairs, order, metrics, ms; at most 3,000",
        _ => "",
    }
}

fn table(figures: &Figures) -> String {
    let mut table = String::from("| figure | value | what |\n|---|---:|---|\n");
    for (name, value) in figures {
        let digits = if *value < 100.0 { 2 } else { 0 };
        let _ = writeln!(table, "| `{name}` | {value:.digits$} | {} |", meaning(name));
    }
    table
}

fn page(table: &str) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("unknown").to_owned();
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    format!(
        "# Benchmarks\n\n`make bench` writes this page; run it to repeat the measurements. Machine: {model}, {cores} cores, files on \
         its local disk. Each part runs in its own process, with the endpoint on the same machine.\n\n\
         An item's complete walk: planned (item, input, attempt), claimed with a lease, the intent of its step committed \
         before the call and the result after it, handed in, archived with counters and outbox. Nothing is deleted. 2,048 \
         items are in flight. The page cache (64 MB) fills between 10k and 100k items; nothing else grows.\n\n{table}"
    )
}
