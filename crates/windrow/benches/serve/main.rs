//! `make bench-serve`: measures the server under load with the real binary, on one machine. Compared figures are
//! measured alternately in one run.

mod load;
mod reads;
mod report;
mod server;
mod slow_readers;

use std::collections::BTreeMap;

/// Name and value; the names are a contract (see docs/benchmarks.md).
pub type Figures = BTreeMap<String, f64>;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let mut figures = Figures::new();
    if wanted("slow_readers") {
        figures.extend(slow_readers::measure());
    }
    if wanted("reads") {
        figures.extend(reads::measure());
    }
    report::write(&figures, args.is_empty());
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
