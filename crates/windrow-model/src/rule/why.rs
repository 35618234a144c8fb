//! Explains why a run is not progressing. The store reads the facts; this module turns them into sentences, the most
//! important one first.

use crate::counters::Counters;
use crate::ids::{RunId, SessionId};
use crate::rule::limit::{Hold, Wait};
use crate::rule::rollout::Holdup;
use crate::state::RunState;
use crate::time::Time;

/// The facts about one run, read in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDiagnosis {
    pub run: RunId,
    pub state: RunState,
    pub reason: Option<String>,
    /// A sentence about the exhausted budget.
    pub spent: Option<String>,
    pub counters: Counters,
    pub planned: bool,
    pub region: String,
    pub concurrency: i64,
    pub coordinator: Option<SessionId>,
    pub coordinator_until: Time,
    /// Runs without a coordinator that are ahead of this one.
    pub ahead: i64,
    /// Other active runs of its workspace, which may use up its quota.
    pub beside: i64,
    /// Queued items of the open wave that may start now.
    pub ready: i64,
    /// What the rollout or the failure cap waits for.
    pub holdup: Option<Holdup>,
    /// Queued items of later waves.
    pub gated: i64,
    /// Queued items with a start time in the future, and the earliest of these times.
    pub delayed: i64,
    pub next_due_at: Option<Time>,
    /// Items waiting for a resource, with one of the resources.
    pub blocked: i64,
    pub blocked_on: Option<String>,
    /// Leased items, and those whose lease has expired.
    pub leased: i64,
    pub expired: i64,
    /// What leased items wait for before their next call.
    pub waits: Vec<Wait>,
    /// Handed in, not archived.
    pub logged: i64,
    /// The most common error class of this run's attempts, with its count.
    pub commonest_error: Option<(String, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Explanation {
    pub headline: String,
    pub details: Vec<String>,
    /// What the person can do, if anything.
    pub remedy: Option<String>,
}

/// `job` is the name for commands in the remedy.
pub fn explain(s: &RunDiagnosis, job: &str, now: Time) -> Explanation {
    let alive = s.coordinator.is_some() && s.coordinator_until > now;
    let say =
        |headline: String, remedy: Option<String>| Explanation { headline, details: details(s, alive, now), remedy };
    if s.state.is_final() {
        let why = s.reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default();
        let retry = (s.counters.failed + s.counters.cancelled > 0).then(|| format!("windrow jobs retry {job}"));
        return say(format!("The run has ended ({}){why}.", s.state), retry);
    }
    if let (RunState::Paused, Some(spent)) = (s.state, &s.spent) {
        let more = format!("windrow jobs resume {job} --here --budget DOLLARS (or --budget-tokens N)");
        return say(format!("Paused: {spent}. Results so far are saved."), Some(more));
    }
    if s.state == RunState::Paused {
        return say("The run is paused.".into(), Some(format!("windrow jobs resume {job}")));
    }
    if !alive {
        return match (s.coordinator, s.ahead) {
            (Some(session), _) => say(
                format!("The coordinator of this run ({session}) stopped, and no other process has resumed the run."),
                Some("run its file again with `windrow run FILE` to resume it".into()),
            ),
            (None, 0) if s.beside > 0 => say(
                match s.beside {
                    1 => "No process is executing this run. 1 other run of the workspace is active and may use up its quota."
                        .into(),
                    n => format!(
                        "No process is executing this run. {n} other runs of the workspace are active and may use up its quota."
                    ),
                },
                Some("wait, or run its file with `windrow run FILE`".into()),
            ),
            (None, 0) => say(
                if s.region.is_empty() {
                    "No process is executing this run.".into()
                } else {
                    format!("No process is executing this run; it needs a node that serves region {:?}.", s.region)
                },
                Some("run its file with `windrow run FILE`".into()),
            ),
            (None, n) => say(
                format!("No process is executing this run; {} queued before it.", counted(n, "run")),
                Some("windrow serve".into()),
            ),
        };
    }
    if let Some(holdup) = s.holdup.filter(|_| s.leased == 0 && !s.state.is_stopping()) {
        return held_up(holdup, job, now, say);
    }
    if s.state.is_stopping() {
        return say(
            format!("The run is {}; {} left to stop or finish.", s.state, counted(s.counters.unsettled(), "item")),
            None,
        );
    }
    if s.expired > 0 {
        return say(format!("{} lost the worker and will be queued again.", counted(s.expired, "item")), None);
    }
    let waiting: i64 = s.waits.iter().map(|wait| wait.items).sum();
    if let Some(wait) = s.waits.iter().max_by_key(|wait| wait.items)
        && waiting * 2 >= s.leased
    {
        let unmanned = wait.hold == Hold::NoWorker { connected: 0 };
        let remedy = unmanned.then(|| "start a worker with these capabilities (docs/workers.md)".to_owned());
        return say(format!("{}.", wait.sentence(now)), remedy);
    }
    if s.leased >= s.concurrency {
        return say(format!("Progressing: all {} are in use.", counted(s.concurrency, "slot")), None);
    }
    if s.ready > 0 {
        return say(format!("Progressing: {} ready to start.", counted(s.ready, "item")), None);
    }
    if s.leased > 0 {
        return say(format!("Progressing: the last {} running.", counted(s.leased, "item")), None);
    }
    if let Some(due) = s.next_due_at {
        return say(
            format!(
                "{} waiting for a retry; the next one starts in {}.",
                counted(s.delayed, "item"),
                seconds(due - now)
            ),
            None,
        );
    }
    if s.blocked > 0 {
        let on = s.blocked_on.as_deref().unwrap_or("a resource");
        return say(format!("{} waiting for {on:?}, which another item uses.", counted(s.blocked, "item")), None);
    }
    if s.logged > 0 {
        return say(format!("{} waiting to be archived.", counted(s.logged, "finished item")), None);
    }
    if !s.planned {
        return say("The source is still being read.".into(), None);
    }
    say("All items are settled; the run will close.".into(), None)
}

/// Waves are counted from 1 for people.
fn held_up(holdup: Holdup, job: &str, now: Time, say: impl Fn(String, Option<String>) -> Explanation) -> Explanation {
    match holdup {
        Holdup::Frozen { until } => say(format!("A freeze ends in {}.", seconds(until - now)), None),
        Holdup::Baking { wave, until } => {
            say(format!("Wave {wave} is in its bake time; wave {} opens in {}.", wave + 1, seconds(until - now)), None)
        }
        Holdup::Approval { wave } => {
            say(format!("Wave {} waits for approval.", wave + 1), Some(format!("windrow jobs approve {job}")))
        }
        Holdup::Checking { wave } => say(format!("The health check before wave {} is running.", wave + 1), None),
        Holdup::Capped { failed, max, .. } => say(
            format!("Failure cap reached: {failed} of at most {max} items failed."),
            Some(format!("windrow jobs resume {job} --here --max-failed N, or windrow jobs cancel {job}")),
        ),
    }
}

fn details(s: &RunDiagnosis, alive: bool, now: Time) -> Vec<String> {
    let c = &s.counters;
    let mut lines =
        vec![format!("items: {} of {} done · {} queued · {} running", c.settled(), c.total, c.queued, c.running)];
    if c.failed + c.cancelled + c.skipped > 0 {
        let rest = [(c.failed, "failed"), (c.cancelled, "cancelled"), (c.skipped, "skipped")];
        let rest = rest.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        lines.push(format!("done: {} succeeded · {}", c.succeeded, rest.collect::<Vec<_>>().join(" · ")));
    }
    if s.delayed + s.blocked + s.gated > 0 {
        let later = if s.gated > 0 { format!(", {} in later waves", s.gated) } else { String::new() };
        lines.push(format!(
            "queued: {} ready, {} delayed, {} waiting for a resource{later}",
            s.ready, s.delayed, s.blocked
        ));
    }
    lines.extend(s.waits.iter().map(|wait| wait.sentence(now)));
    if let (true, Some(session)) = (alive, s.coordinator) {
        lines.push(format!("coordinated by {session}, lease ends in {}", seconds(s.coordinator_until - now)));
    }
    if let Some((class, n)) = &s.commonest_error {
        lines.push(format!("most common error: {class} ({})", counted(*n, "attempt")));
    }
    lines
}

fn counted(n: i64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn seconds(ms: i64) -> String {
    format!("{:.1} s", ms.max(0) as f64 / 1000.0)
}
