//! Limits of the operating system.

use rustix::process::{Resource, getrlimit};

use crate::app::doctor::Check;

const NAME: &str = "open files";
/// Each connection is one: items at work, readers of the API, the database.
const ENOUGH: u64 = 4096;
const FEW: u64 = 512;

pub fn open_files() -> Check {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Check::ok(NAME, "no limit") };
    let finding = format!("at most {limit}");
    let remedy = format!("raise it: `ulimit -n {ENOUGH}`, or LimitNOFILE={ENOUGH} in the systemd unit");
    match limit {
        ..FEW => Check::failure(NAME, finding, remedy),
        FEW..ENOUGH => Check::warning(NAME, format!("{finding}; enough for small runs only"), remedy),
        _ => Check::ok(NAME, finding),
    }
}
