//! The clock: leases and schedules depend on it.

use windrow_jobfile::prices::dated;
use windrow_model::Time;

use crate::app::doctor::{Check, Patient};

const NAME: &str = "clock";
/// Clocks of several machines are never quite the same.
const SLACK_MS: i64 = 60_000;

pub fn check(patient: &Patient<'_>, newest: Option<Time>) -> Check {
    let remedy = "set the clock, and synchronise it with NTP (timedatectl set-ntp true)";
    let today = windrow_wire::Timestamp::from(patient.now).to_string();
    // This program was made after its table of prices was.
    if today.as_str() < dated() {
        return Check::failure(NAME, format!("it says {today}, which is before this version was built"), remedy);
    }
    match newest {
        Some(newest) if newest.0 > patient.now.0 + SLACK_MS => {
            let ahead_s = (newest.0 - patient.now.0) / 1000;
            let finding = format!("the data has times {ahead_s} s ahead of this clock: leases end too late");
            Check::warning(NAME, finding, remedy)
        }
        _ => Check::ok(NAME, today),
    }
}
