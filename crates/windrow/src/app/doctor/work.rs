//! The work in the database: dead processes, orphaned runs, expired leases, events that no server deletes.

use windrow_model::state::RunState;
use windrow_store::sqlite::Examination;

use crate::app::doctor::{Check, Patient};
use crate::node::data_dir::DataDir;
use crate::node::session_lock;

/// A server keeps the newest ten thousand.
const BACKLOG: i64 = 50_000;
const SHOWN: usize = 5;

pub fn checks(found: &Examination, patient: &Patient<'_>) -> Vec<Check> {
    let locks = DataDir::at(&patient.options.data).sessions();
    let (dead, living): (Vec<_>, Vec<_>) =
        found.open_sessions.iter().partition(|session| session_lock::is_dead(&locks, session.id));
    let alive = !living.is_empty();
    let mut checks = vec![match dead.len() {
        0 => Check::ok("processes", format!("{} running", living.len())),
        n => {
            let finding = format!("{n} died and still hold items; {} live", living.len());
            Check::warning("processes", finding, "nothing to do: the next command or server requeues them")
        }
    }];
    checks.push(runs(found, alive));
    checks.push(match found.expired_leases {
        0 => Check::ok("leases", "no expired leases"),
        n if alive => {
            let finding = format!("{n} item(s) have had expired leases for a minute, though a process is running");
            Check::warning("leases", finding, "see `windrow jobs why JOB`; restart the server if it is stuck")
        }
        n => Check::warning(
            "leases",
            format!("{n} item(s) are held by dead processes"),
            "start a server, or run the job file again to resume them",
        ),
    });
    checks.push(match found.outbox {
        waiting if waiting > BACKLOG => {
            Check::warning("events", format!("{waiting} are kept"), "start a server, which deletes old events")
        }
        waiting => Check::ok("events", format!("{waiting} are kept")),
    });
    checks
}

fn runs(found: &Examination, alive: bool) -> Check {
    let waiting: Vec<&str> = found
        .orphans
        .iter()
        .filter(|orphan| orphan.state != RunState::Paused)
        .map(|orphan| orphan.job.as_str())
        .collect();
    let paused = found.orphans.len() - waiting.len();
    if waiting.is_empty() {
        return Check::ok("runs", format!("no orphaned runs; {paused} paused"));
    }
    let names = waiting.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = waiting.len().saturating_sub(SHOWN);
    let names = if more > 0 { format!("{names} and {more} more") } else { names };
    let finding = format!("{} unfinished without a process: {names}", waiting.len());
    match alive {
        // They may just wait for a place.
        true => Check::ok("runs", format!("{finding} yet")),
        false => Check::warning("runs", finding, "resume all of them with `windrow serve`"),
    }
}
