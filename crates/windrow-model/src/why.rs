//! "Why is this run not progressing?", answered from state, for a person. The store gathers the
//! facts; this turns them into sentences, the most decisive first.

use crate::counters::Counters;
use crate::ids::{RunId, SessionId};
use crate::limit::{Hold, Wait};
use crate::rollout::Holdup;
use crate::state::RunState;
use crate::time::Time;

/// The facts about one run, read in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDiagnosis {
    pub run: RunId,
    pub state: RunState,
    pub reason: Option<String>,
    /// Says so, once its budget is spent.
    pub spent: Option<String>,
    pub counters: Counters,
    pub planned: bool,
    pub region: String,
    pub concurrency: i64,
    pub coordinator: Option<SessionId>,
    pub coordinator_until: Time,
    /// Runs without a coordinator that are ahead of this one.
    pub ahead: i64,
    /// Other runs of its workspace at work: a quota may hold it back.
    pub beside: i64,
    /// Queued items of the open wave that may start now.
    pub ready: i64,
    /// What the rollout or the cap waits for.
    pub holdup: Option<Holdup>,
    /// Queued items of waves that are not open yet.
    pub gated: i64,
    /// Queued items whose time has not come, and when the first one's comes.
    pub delayed: i64,
    pub next_due_at: Option<Time>,
    /// Items waiting for a resource, with one of the resources.
    pub blocked: i64,
    pub blocked_on: Option<String>,
    /// Items leased now, and those whose lease has run out.
    pub leased: i64,
    pub expired: i64,
    /// What leased items wait for before their next call.
    pub waits: Vec<Wait>,
    /// Handed in, not archived.
    pub logged: i64,
    /// The commonest error class of this run's attempts, with its count.
    pub commonest_error: Option<(String, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Explanation {
    pub headline: String,
    pub details: Vec<String>,
    /// What the person can do, if anything.
    pub remedy: Option<String>,
}

/// `job` is how the person names the job on the command line.
pub fn explain(s: &RunDiagnosis, job: &str, now: Time) -> Explanation {
    let alive = s.coordinator.is_some() && s.coordinator_until > now;
    let say =
        |headline: String, remedy: Option<String>| Explanation { headline, details: details(s, alive, now), remedy };
    if s.state.is_final() {
        let why = s.reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default();
        let retry = (s.counters.failed + s.counters.cancelled > 0).then(|| format!("windrow jobs retry {job}"));
        return say(format!("The run is over ({}){why}.", s.state), retry);
    }
    if let (RunState::Paused, Some(spent)) = (s.state, &s.spent) {
        let more = format!("windrow jobs resume {job} --here --budget DOLLARS (or --budget-tokens N)");
        return say(format!("It is paused: {spent}. Everything done is kept."), Some(more));
    }
    if s.state == RunState::Paused {
        return say("Somebody paused it.".into(), Some(format!("windrow jobs resume {job}")));
    }
    if !alive {
        return match (s.coordinator, s.ahead) {
            (Some(session), _) => say(
                format!("The process that coordinated it ({session}) is gone, and no other has taken over."),
                Some("run its file again with `windrow run FILE`: it goes on where it stopped".into()),
            ),
            (None, 0) if s.beside > 0 => say(
                format!(
                    "No process is working on it; {} other run(s) of its workspace are at work, which may be its quota.",
                    s.beside
                ),
                Some("wait, or run its file with `windrow run FILE`".into()),
            ),
            (None, 0) => say(
                if s.region.is_empty() {
                    "No process is working on it.".into()
                } else {
                    format!("No process is working on it; it needs one that serves region {:?}.", s.region)
                },
                Some("run its file with `windrow run FILE`".into()),
            ),
            (None, n) => say(format!("It waits for a place: {n} other run(s) come first."), None),
        };
    }
    if let Some(holdup) = s.holdup.filter(|_| s.leased == 0 && !s.state.is_stopping()) {
        return held_up(holdup, job, now, say);
    }
    if s.state.is_stopping() {
        return say(
            format!("It is {}: {} item(s) still have to stop or finish.", s.state, s.counters.unsettled()),
            None,
        );
    }
    if s.expired > 0 {
        return say(format!("{} item(s) lost their worker and are about to be queued again.", s.expired), None);
    }
    let waiting: i64 = s.waits.iter().map(|wait| wait.items).sum();
    if let Some(wait) = s.waits.iter().max_by_key(|wait| wait.items)
        && waiting * 2 >= s.leased
    {
        let unmanned = wait.hold == Hold::NoWorker { connected: 0 };
        let remedy = unmanned.then(|| "start one that is able to do it (docs/workers.md)".to_owned());
        return say(format!("{}.", wait.sentence(now)), remedy);
    }
    if s.leased >= s.concurrency {
        return say(format!("It is progressing: all {} of its places are at work.", s.concurrency), None);
    }
    if s.ready > 0 {
        return say(format!("It is progressing: {} item(s) are ready to start.", s.ready), None);
    }
    if s.leased > 0 {
        return say(format!("It is progressing: the last {} item(s) are at work.", s.leased), None);
    }
    if let Some(due) = s.next_due_at {
        return say(
            format!(
                "{} item(s) failed and wait for their next try; the first starts in {}.",
                s.delayed,
                seconds(due - now)
            ),
            None,
        );
    }
    if s.blocked > 0 {
        let on = s.blocked_on.as_deref().unwrap_or("a resource");
        return say(format!("{} item(s) wait for {on:?}, which another item holds.", s.blocked), None);
    }
    if s.logged > 0 {
        return say(format!("{} finished item(s) wait to be archived.", s.logged), None);
    }
    if !s.planned {
        return say("It is still reading its source.".into(), None);
    }
    say("Nothing holds it: it is about to close.".into(), None)
}

/// Waves are counted from 1 for people.
fn held_up(holdup: Holdup, job: &str, now: Time, say: impl Fn(String, Option<String>) -> Explanation) -> Explanation {
    match holdup {
        Holdup::Frozen { until } => say(format!("A freeze lasts for another {}.", seconds(until - now)), None),
        Holdup::Baking { wave, until } => say(
            format!("Wave {wave} is done and being watched; wave {} opens in {}.", wave + 1, seconds(until - now)),
            None,
        ),
        Holdup::Approval { wave } => say(
            format!("Wave {} waits for somebody to approve it.", wave + 1),
            Some(format!("windrow jobs approve {job}")),
        ),
        Holdup::Checking { wave } => say(format!("The health check before wave {} is under way.", wave + 1), None),
        Holdup::Capped { failed, max, .. } => say(
            format!("{failed} item(s) failed, and at most {max} may."),
            Some(format!("windrow jobs resume {job} --here --max-failed N, or windrow jobs cancel {job}")),
        ),
    }
}

fn details(s: &RunDiagnosis, alive: bool, now: Time) -> Vec<String> {
    let c = &s.counters;
    let mut lines = vec![format!(
        "items: {} of {} settled ({} succeeded, {} failed, {} cancelled, {} skipped), {} queued, {} running",
        c.settled(),
        c.total,
        c.succeeded,
        c.failed,
        c.cancelled,
        c.skipped,
        c.queued,
        c.running
    )];
    if c.queued > 0 {
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
        lines.push(format!("commonest error: {class}, {n} time(s)"));
    }
    lines
}

fn seconds(ms: i64) -> String {
    format!("{:.1} s", ms.max(0) as f64 / 1000.0)
}
