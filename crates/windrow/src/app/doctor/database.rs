//! The database: whether it opens, passes the integrity check, and has a known schema.

use windrow_model::Time;
use windrow_store::sqlite::{Examination, examine as look_at};

use crate::app::doctor::{Check, Patient};
use crate::node::data_dir::DataDir;

const NAME: &str = "database";
const MIB: u64 = 1 << 20;
/// Many times what is kept at most; a reader that never ends keeps it from being copied back.
const LARGE_LOG: u64 = 512 * MIB;
/// A coordinator takes expired leases back within seconds.
const PATIENCE_MS: i64 = 60_000;

pub fn examine(data: &DataDir, patient: &Patient<'_>) -> Result<Examination, Check> {
    let found = look_at(&data.database(), patient.now, Time(patient.now.0 - PATIENCE_MS));
    found.map_err(|error| {
        let remedy =
            "check the permissions of the data directory; if it is damaged, restore a backup: windrow restore FILE";
        Check::failure(NAME, error.to_string(), remedy)
    })
}

pub fn judge(found: &Examination, patient: &Patient<'_>) -> Vec<Check> {
    if !found.damage.is_empty() {
        let remedy =
            "stop all processes, keep the directory, and restore a backup elsewhere: windrow --data NEW restore FILE";
        return vec![Check::failure(NAME, format!("damaged: {}", found.damage.join("; ")), remedy)];
    }
    let versions = format!("schema {} of {}", found.version, found.known);
    if found.version > found.known {
        return vec![Check::failure(NAME, format!("{versions}: from a newer windrow"), "use the newer windrow")];
    }
    let size = |file: &str| std::fs::metadata(patient.options.data.join(file)).map_or(0, |meta| meta.len());
    let (whole, log) = (size("windrow.db"), size("windrow.db-wal"));
    let finding = format!("integrity check passed, {versions}, {} MiB and {} MiB of log", whole / MIB, log / MIB);
    let mut checks = vec![match found.is_current() {
        true => Check::ok(NAME, finding),
        false => Check::warning(NAME, finding, "any other command migrates it; make a backup first"),
    }];
    if log > LARGE_LOG {
        let remedy = "end long reads (an export, a copy), or restart the server";
        checks.push(Check::warning(NAME, format!("its log has grown to {} MiB", log / MIB), remedy));
    }
    checks
}
