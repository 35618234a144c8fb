//! Writes the figures: `target/bench-serve.json` for machines, a section of `docs/benchmarks.md` for people.

use std::fmt::Write;
use std::path::Path;

use crate::Figures;

/// Where the section begins; the sections of other benchmarks are left alone.
const SECTION: &str = "## The server";

pub fn write(figures: &Figures, complete: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let json = serde_json::to_string_pretty(figures).expect("figures are numbers");
    std::fs::write(root.join("target/bench-serve.json"), json + "\n").expect("target/bench-serve.json");
    let table = table(figures);
    println!("{table}");
    // A partial run would leave a page that mixes machines and days.
    if complete {
        let path = root.join("docs/benchmarks.md");
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        let (before, old) = page.split_once(SECTION).unwrap_or((&page, ""));
        let after = old.find("\n## ").map_or("", |at| &old[at..]);
        let section = format!("{SECTION}\n\n{}\n\n{table}", words());
        std::fs::write(path, format!("{}\n\n{section}{after}", before.trim_end())).expect("docs/benchmarks.md");
    }
}

fn words() -> &'static str {
    "`make bench-serve` writes this section: `windrow serve` on the embedded database, with the load and the model endpoint \
     on the same two cores."
}

fn table(figures: &Figures) -> String {
    let mut table = String::from("| figure | value | what |\n|---|---:|---|\n");
    for (name, value) in figures {
        let digits = if *value < 100.0 { 2 } else { 0 };
        let _ = writeln!(table, "| `{name}` | {value:.digits$} | {} |", meaning(name));
    }
    table
}

fn meaning(name: &str) -> &'static str {
    match name {
        "slow_readers.items_per_s_alone" => "items/s of a run of 40k recorded rows without readers; median of 5",
        "slow_readers.items_per_s_watched" => "the same with 1,000 readers of `/events` that read 64 bytes a second",
        "slow_readers.watched_over_alone" => "ratio of the two; at least 0.95",
        "slow_readers.peak_mb" => "peak memory of the server during all runs, MB",
        "reads.most_per_s" => "mixed reads/s over 48 connections without pacing, while a run archives",
        "reads.paced_per_s" => "the same, paced at 10,000/s",
        "reads.paced_ms_p50" => "response time at that pace, from the scheduled start of the request, ms",
        "reads.paced_ms_p99" => "the same; at most 50",
        "reads.paced_ms_max" => "the slowest response",
        "reads.archived_per_s_meanwhile" => "items/s archived by the run at that pace (64 at once, 100 ms each)",
        "reads.peak_mb" => "peak memory of the server, MB",
        _ => "",
    }
}
