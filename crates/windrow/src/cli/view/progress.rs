//! What is seen of a run while it goes on: a bar on a terminal, a line now and then elsewhere,
//! always on stderr. Reads only the run's counters, so it costs the same for any number of items.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use windrow_model::Time;
use windrow_model::limit::Wait;
use windrow_model::rollout::Holdup;
use windrow_model::state::RunState;
use windrow_wire::RunDetail;

use crate::text;

const LINE_EVERY: Duration = Duration::from_secs(3);
/// The rate is that of the last seconds: it follows a provider that slows down.
const WINDOW: Duration = Duration::from_secs(10);

pub struct Progress {
    name: String,
    /// Rows in the source: the total while planning still goes on.
    rows: i64,
    face: Face,
    seen: VecDeque<(Instant, i64)>,
    state: Option<RunState>,
    /// The wave whose approval was asked for last.
    asked: Option<(String, i64)>,
}

enum Face {
    Bar(ProgressBar),
    Lines { last: Instant },
    Silent,
}

impl Progress {
    pub fn new(name: &str, rows: u64, quiet: bool) -> Self {
        let face = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Face::Silent,
            (false, true) => Face::Bar(bar(name)),
            (false, false) => Face::Lines { last: Instant::now() },
        };
        Self { name: name.into(), rows: rows as i64, face, seen: VecDeque::new(), state: None, asked: None }
    }

    pub fn show(&mut self, run: &RunDetail, waits: &[Wait], now: Time) {
        let total = if run.planned { run.items.total } else { run.items.total.max(self.rows) };
        let rate = self.rate(run.items.settled());
        let mut summary = summary(run, total, rate);
        if let Some(rollout) = run.rollout.as_ref().filter(|rollout| rollout.waves > 1) {
            summary = format!("wave {} of {} · {summary}", rollout.wave, rollout.waves);
        }
        if let Some(holdup) = run.holdup(now).filter(|_| run.items.running == 0) {
            summary = format!("{summary} · {}", holdup.phrase(now));
            self.tell_of_approval(run, holdup);
        }
        // Said only where it is what holds the run up.
        if let Some(wait) = waits.iter().max_by_key(|wait| wait.items).filter(|w| w.items * 2 >= run.items.running) {
            summary = format!("{summary} · {}", wait.sentence(now));
        }
        self.tell_of_pause(run.state);
        match &mut self.face {
            Face::Bar(bar) => {
                bar.set_length(total.max(0) as u64);
                bar.set_position(run.items.settled().max(0) as u64);
                bar.set_message(summary);
            }
            Face::Lines { last } if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                eprintln!("{}: {summary}", self.name);
            }
            Face::Lines { .. } | Face::Silent => {}
        }
    }

    /// A line of its own, not torn by the bar.
    pub fn say(&self, line: &str) {
        match &self.face {
            Face::Bar(bar) => bar.suspend(|| eprintln!("{line}")),
            Face::Lines { .. } => eprintln!("{line}"),
            Face::Silent => {}
        }
    }

    pub fn clear(&self) {
        if let Face::Bar(bar) = &self.face {
            bar.finish_and_clear();
        }
    }

    fn tell_of_pause(&mut self, state: RunState) {
        let before = self.state.replace(state);
        if before == Some(state) {
            return;
        }
        if state == RunState::Paused {
            let name = &self.name;
            self.say(&format!(
                "paused: go on with `windrow jobs resume {name}`, or leave with Ctrl-C; nothing is lost"
            ));
        } else if before == Some(RunState::Paused) {
            self.say("resumed");
        }
    }

    /// Once per wave.
    fn tell_of_approval(&mut self, run: &RunDetail, holdup: Holdup) {
        if let Holdup::Approval { wave } = holdup
            && self.asked.replace((run.id.clone(), wave)) != Some((run.id.clone(), wave))
        {
            let name = &self.name;
            self.say(&format!("wave {} waits for approval: windrow jobs approve {name}", wave + 1));
        }
    }

    fn rate(&mut self, settled: i64) -> Option<f64> {
        let now = Instant::now();
        self.seen.push_back((now, settled));
        while self.seen.len() > 2 && now - self.seen[0].0 > WINDOW {
            self.seen.pop_front();
        }
        let (since, first) = self.seen[0];
        let seconds = (now - since).as_secs_f64();
        (seconds > 0.3 && settled > first).then(|| (settled - first) as f64 / seconds)
    }
}

fn bar(name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:24} {percent:>3}% {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━╌");
    ProgressBar::new(0).with_style(style).with_prefix(name.to_owned())
}

/// `1,234 of 5,000 · 3 failed · 32 running · 410/s · 9.2 s left`
fn summary(run: &RunDetail, total: i64, rate: Option<f64>) -> String {
    let counters = &run.items;
    let mut parts = vec![
        format!("{} of {}", text::count(counters.settled()), text::count(total)),
        format!("{} failed", text::count(counters.failed)),
        format!("{} running", text::count(counters.running)),
    ];
    if counters.retries > 0 {
        parts.push(format!("{} retried", text::count(counters.retries)));
    }
    if let Some(rate) = rate {
        let left_ms = (total - counters.settled()) as f64 / rate * 1000.0;
        parts.push(text::rate(rate));
        parts.push(format!("{} left", text::duration(left_ms.min(1e15) as i64)));
    }
    parts.join(" · ")
}
