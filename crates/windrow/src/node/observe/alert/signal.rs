//! What the rules see: from a reading, and the ones before it, to one number per rule and subject.

use std::collections::{BTreeMap, VecDeque};

use windrow_model::health::LiveRun;
use windrow_model::{JobId, RunId, Time};

use crate::node::observe::Reading;
use crate::node::observe::alert::Rule;

/// Fewer items say nothing about a rate.
const ENOUGH: i64 = 20;
/// What "recently" means.
const WINDOW_MS: i64 = 300_000;
/// A run must be this old before its pace says anything.
const GROWN_MS: i64 = 2 * WINDOW_MS;

/// One rule's number.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub rule: Rule,
    /// The run it is about; `None`: the whole server.
    pub about: Option<About>,
    pub value: f64,
    pub message: String,
}

/// The run that a signal is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub workspace: String,
    pub job: JobId,
    pub run: RunId,
}

/// What earlier readings said, as far as the rules need it.
#[derive(Debug, Default)]
pub struct Pace {
    /// Executed and failed items per run, a window long.
    runs: BTreeMap<RunId, VecDeque<(Time, i64, i64)>>,
    answered_at: Option<Time>,
    /// CPU time of the process, at the last two readings.
    cpu: Option<(Time, i64)>,
    cpu_before: Option<(Time, i64)>,
}

impl Pace {
    pub fn note(&mut self, reading: &Reading) {
        if let Some(cpu) = reading.cpu {
            self.cpu_before = self.cpu.replace((reading.now, cpu.used_ms));
        }
        let Ok(vitals) = &reading.vitals else { return };
        self.answered_at = Some(reading.now);
        self.runs.retain(|id, _| vitals.runs.iter().any(|run| run.run == *id));
        for run in &vitals.runs {
            let seen = self.runs.entry(run.run).or_default();
            seen.push_back((reading.now, run.counters.executed(), run.counters.failed));
            // The last one outside the window stays: it is what the window is measured from.
            while seen.get(1).is_some_and(|(at, ..)| reading.now - *at >= WINDOW_MS) {
                seen.pop_front();
            }
        }
    }

    /// CPUs in use between the last two readings.
    fn cpus_in_use(&self) -> Option<f64> {
        let ((before, used_before), (now, used)) = (self.cpu_before?, self.cpu?);
        (now > before).then(|| (used - used_before) as f64 / (now - before) as f64)
    }

    /// Items executed and failed within the window, and how long it is.
    fn recent(&self, run: RunId) -> (i64, i64, i64) {
        match self.runs.get(&run).map(|seen| (seen.front(), seen.back())) {
            Some((Some(first), Some(last))) => (last.1 - first.1, last.2 - first.2, last.0 - first.0),
            _ => (0, 0, 0),
        }
    }
}

/// What the rules see now.
pub fn signals(reading: &Reading, pace: &Pace) -> Vec<Signal> {
    let mut signals = of_server(reading, pace);
    if let Ok(vitals) = &reading.vitals {
        signals.extend(vitals.runs.iter().flat_map(|run| of_run(run, reading.now, pace)));
        signals.extend(of_all_runs(&vitals.runs, pace));
    }
    signals
}

fn of_server(reading: &Reading, pace: &Pace) -> Vec<Signal> {
    let of = |rule, value, message| Signal { rule, about: None, value, message };
    let silent_ms = pace.answered_at.unwrap_or(reading.started_at);
    let silent_ms = if reading.vitals.is_ok() { 0 } else { reading.now - silent_ms };
    let why = reading.vitals.as_ref().err().cloned().unwrap_or_default();
    let mut signals =
        vec![of(Rule::DatabaseDown, silent_ms as f64 / 1000.0, format!("the database does not answer: {why}"))];
    if let Ok(vitals) = &reading.vitals {
        let seconds = vitals.slowest_commit_ms as f64 / 1000.0;
        signals.push(of(Rule::DatabaseSlow, seconds, format!("a commit took {seconds:.1} s")));
    }
    if let Some(disk) = reading.disk.filter(|disk| disk.size > 0) {
        let used = 1.0 - disk.free as f64 / disk.size as f64;
        signals.push(of(Rule::DiskSpace, used, format!("the disk has {} MiB left", disk.free >> 20)));
    }
    if let Some(memory) = reading.memory.filter(|memory| memory.limit > 0) {
        let (used, limit) = (memory.used >> 20, memory.limit >> 20);
        let share = memory.used as f64 / memory.limit as f64;
        signals.push(of(Rule::Memory, share, format!("this process uses {used} of {limit} MiB")));
    }
    if let Some((cpu, in_use)) = reading.cpu.zip(pace.cpus_in_use()) {
        let message = format!("this process uses {in_use:.1} of {} CPUs", cpu.count);
        signals.push(of(Rule::Cpu, in_use / cpu.count as f64, message));
    }
    let load = &reading.load;
    if load.queue > 0 {
        let share = load.queued as f64 / load.queue as f64;
        let message = format!("{} of {} places for claimed items are taken", load.queued, load.queue);
        signals.push(of(Rule::QueueFull, share, message));
    }
    signals
}

fn of_run(run: &LiveRun, now: Time, pace: &Pace) -> Vec<Signal> {
    let about = About { workspace: run.workspace.clone(), job: run.job, run: run.run };
    let of = |rule, value, message| Signal { rule, about: Some(about.clone()), value, message };
    let (counters, name) = (&run.counters, &run.name);
    let mut signals = Vec::new();
    if counters.executed() >= ENOUGH {
        let rate = counters.failed as f64 / counters.executed() as f64;
        let message = format!("{} of {} items of {name} failed", counters.failed, counters.executed());
        signals.push(of(Rule::RunFailureRate, rate, message));
    }
    if run.should_move() {
        let still = (now - run.moved_at).max(0) as f64 / 1000.0;
        let message =
            format!("nothing has moved in {name} for {}; ask `windrow jobs why {name}`", Rule::SlowRun.show(still));
        signals.push(of(Rule::SlowRun, still, message));
        signals.extend(pace_of(run, now, pace).map(|times| {
            let message = format!("{name} is {} slower than it was", Rule::SlowPace.show(times));
            of(Rule::SlowPace, times, message)
        }));
    }
    signals
}

/// How many times slower the run was within the window than before it.
fn pace_of(run: &LiveRun, now: Time, pace: &Pace) -> Option<f64> {
    let (recent, _, window_ms) = pace.recent(run.run);
    let age_ms = now - run.started_at?;
    let before = run.counters.executed() - recent;
    if age_ms < GROWN_MS || window_ms < WINDOW_MS / 2 || before < ENOUGH {
        return None;
    }
    let usual = before as f64 / (age_ms - window_ms) as f64;
    // One item more than there was, so that a stalled run has a pace too.
    Some(usual * window_ms as f64 / (recent as f64).max(1.0))
}

fn of_all_runs(runs: &[LiveRun], pace: &Pace) -> Option<Signal> {
    let recent = runs.iter().map(|run| pace.recent(run.run));
    let (executed, failed) = recent.fold((0, 0), |(executed, failed), (e, f, _)| (executed + e, failed + f));
    if executed < ENOUGH {
        return None;
    }
    let message = format!("{failed} of the last {executed} items failed");
    Some(Signal { rule: Rule::FailureRate, about: None, value: failed as f64 / executed as f64, message })
}

#[cfg(test)]
mod tests {
    use windrow_engine::Load;
    use windrow_model::counters::Counters;
    use windrow_model::health::HealthSnapshot;
    use windrow_model::state::{Mode, RunState};

    use super::*;
    use crate::node::observe::process::{Cpu, Disk, Memory};

    fn run(succeeded: i64, failed: i64) -> LiveRun {
        LiveRun {
            run: RunId(1),
            job: JobId(1),
            workspace: "w".into(),
            name: "a".into(),
            state: RunState::Running,
            mode: Mode::Submit,
            concurrency: 1,
            planned: true,
            counters: Counters { queued: 5, succeeded, failed, ..Default::default() },
            created_at: Time(0),
            started_at: Some(Time(0)),
            moved_at: Time(0),
            held: false,
        }
    }

    fn reading(now: i64, runs: Vec<LiveRun>) -> Reading {
        Reading {
            now: Time(now),
            started_at: Time(0),
            vitals: Ok(HealthSnapshot { runs, slowest_commit_ms: 1_500, ..Default::default() }),
            load: Load { workers: 4, busy: 4, queued: 9, queue: 10, relayed: 0 },
            disk: Some(Disk { free: 25, size: 100 }),
            memory: Some(Memory { used: 30, limit: 40 }),
            cpu: None,
            open_files: None,
        }
    }

    fn value(signals: &[Signal], rule: Rule) -> Option<f64> {
        signals.iter().find(|signal| signal.rule == rule).map(|signal| signal.value)
    }

    #[test]
    fn each_rule_sees_its_own_number() {
        let seen = signals(&reading(5_000, vec![run(15, 5)]), &Pace::default());
        let cases = [
            (Rule::RunFailureRate, Some(0.25)),
            (Rule::FailureRate, None),
            (Rule::SlowRun, Some(5.0)),
            (Rule::SlowPace, None),
            (Rule::DiskSpace, Some(0.75)),
            (Rule::Memory, Some(0.75)),
            (Rule::Cpu, None),
            (Rule::QueueFull, Some(0.9)),
            (Rule::DatabaseDown, Some(0.0)),
            (Rule::DatabaseSlow, Some(1.5)),
        ];
        assert_eq!(cases.len(), Rule::ALL.len());
        for (rule, expected) in cases {
            assert_eq!(value(&seen, rule), expected, "{rule}");
        }
    }

    #[test]
    fn cpu_use_is_measured_between_two_readings() {
        let mut pace = Pace::default();
        let using = |now, used_ms| Reading { cpu: Some(Cpu { used_ms, count: 4 }), ..reading(now, vec![]) };
        pace.note(&using(1_000, 500));
        let last = using(3_000, 4_500);
        pace.note(&last);
        assert_eq!(value(&signals(&last, &pace), Rule::Cpu), Some(0.5), "two of four");
    }

    #[test]
    fn a_few_items_are_no_rate_and_a_run_with_nothing_open_is_not_slow() {
        let idle = LiveRun { counters: Counters { succeeded: 10, failed: 9, ..Default::default() }, ..run(0, 0) };
        let seen = signals(&reading(5_000, vec![idle]), &Pace::default());
        assert!(seen.iter().all(|signal| signal.about.is_none()), "{seen:?}");
    }

    #[test]
    fn a_database_that_is_silent_is_silent_since_its_last_answer() {
        let mut pace = Pace::default();
        pace.note(&reading(4_000, vec![]));
        let silent = Reading { vitals: Err("gone".into()), ..reading(34_000, vec![]) };
        pace.note(&silent);
        let seen = signals(&silent, &pace);
        assert_eq!((value(&seen, Rule::DatabaseDown), value(&seen, Rule::DatabaseSlow)), (Some(30.0), None));
    }

    #[test]
    fn rates_and_paces_are_of_the_window() {
        let mut pace = Pace::default();
        // A thousand items in ten minutes, then ten minutes of one item a minute, half of which fail.
        let mut last = reading(0, vec![]);
        for minute in 0..=20_i64 {
            let done = if minute <= 10 { minute * 100 } else { 1_000 + minute - 10 };
            let failed = (minute - 10).max(0) / 2;
            last = reading(minute * 60_000, vec![run(done - failed, failed)]);
            pace.note(&last);
        }
        let seen = signals(&last, &pace);
        let times = value(&seen, Rule::SlowPace).unwrap();
        assert!((60.0..70.0).contains(&times), "{times}: 67 a minute before, one a minute now");
        assert_eq!(value(&seen, Rule::FailureRate), None, "five items are no rate");
        pace.note(&reading(1_201_000, vec![run(1_005, 30)]));
        let rate = value(&signals(&last, &pace), Rule::FailureRate).unwrap();
        assert!(rate > 0.9, "{rate}");
    }
}
