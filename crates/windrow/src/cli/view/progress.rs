//! Progress of a run, always on stderr: a bar on a terminal; elsewhere a line when another 10% and 30 s have
//! passed, and on every change of condition. The whole job comes first, then a run of a part of it. Reads only
//! counters, whatever the number of items.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use windrow_model::Time;
use windrow_model::limit::{Hold, Wait};
use windrow_model::rollout::Holdup;
use windrow_model::state::{Mode, RunState};
use windrow_wire::{ItemCounts, RolloutDetail, RunDetail};

use crate::cli::view::output;
use crate::text::{self, style};

const LINE_EVERY: Duration = Duration::from_secs(30);
/// The rate is that of the last seconds: it follows a provider that slows down.
const WINDOW: Duration = Duration::from_secs(10);

pub struct Progress {
    name: String,
    /// Rows in the source: the total while the run is planned.
    rows: i64,
    face: Face,
    seen: VecDeque<(Instant, i64)>,
    state: Option<RunState>,
    /// The wave whose approval was asked for last.
    asked: Option<(String, i64)>,
    /// The current wave, when it began, and what had been done by then.
    wave: Option<Wave>,
    /// What most items wait for, as it was said last.
    waiting: Option<(std::mem::Discriminant<Hold>, String)>,
}

struct Wave {
    run: String,
    no: i64,
    began: Instant,
    before: ItemCounts,
}

/// `wave 3 of 9`, which a bar shows instead of the whole run: a line tells of each wave before it.
struct CurrentWave {
    name: String,
    settled: i64,
    total: i64,
}

impl CurrentWave {
    /// The items of a retry or a rollback are spread over the waves.
    fn of(run: &RunDetail, total: i64) -> Option<Self> {
        let rollout = run.rollout.as_ref().filter(|rollout| rollout.waves > 1 && run.mode == Mode::Submit)?;
        let until = |wave: i64| rollout.plan.up_to(wave).min(total);
        let (first, last) = (until(rollout.wave - 2), until(rollout.wave - 1));
        let name = format!("wave {} of {}", rollout.wave, rollout.waves);
        Some(Self { name, settled: run.items.settled() - first, total: last - first })
    }
}

enum Face {
    Bar(ProgressBar),
    Lines { last: Instant, settled: i64 },
    Silent,
}

impl Progress {
    pub fn new(name: &str, rows: u64, quiet: bool) -> Self {
        let face = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Face::Silent,
            (false, true) => Face::Bar(bar(name)),
            (false, false) => Face::Lines { last: Instant::now(), settled: 0 },
        };
        Self {
            name: name.into(),
            rows: rows as i64,
            face,
            seen: VecDeque::new(),
            state: None,
            asked: None,
            wave: None,
            waiting: None,
        }
    }

    pub fn show(&mut self, run: &RunDetail, waits: &[Wait], now: Time) {
        let shown = run.whole().unwrap_or(&run.items);
        let total = if run.planned { shown.total } else { shown.total.max(self.rows) };
        let rate = self.rate(run.items.settled());
        let mut summary = summary(run, total, rate);
        let wave = CurrentWave::of(run, total);
        if let (Some(wave), Face::Lines { .. }) = (&wave, &self.face) {
            summary = format!(" · {}{summary}", wave.name);
        }
        if let Some(holdup) = run.holdup(now).filter(|_| run.items.running == 0) {
            summary = format!("{summary} · {}", holdup.phrase(now));
            self.tell_of_approval(run, holdup);
        }
        // Only where at least half of the running items wait.
        let wait = waits.iter().max_by_key(|wait| wait.items).filter(|w| w.items * 2 >= run.items.running);
        if let Some(wait) = wait {
            summary = format!("{summary} · {}", condition(wait, now));
        }
        self.tell_of_wait(wait, now);
        self.tell_of_pause(run.state);
        self.tell_of_wave(run);
        let settled = shown.settled();
        // A part of a job moves by its own tenths.
        let (own, tenth) = (run.items.settled(), if run.whole().is_some() { run.items.total } else { total });
        match &mut self.face {
            Face::Bar(bar) => {
                let (name, settled, total) = match wave {
                    Some(wave) => (format!("  {}", wave.name), wave.settled, wave.total),
                    None => (self.name.clone(), settled, total),
                };
                bar.set_prefix(name);
                bar.set_length(total.max(0) as u64);
                bar.set_position(settled.max(0) as u64);
                bar.set_message(summary);
            }
            Face::Lines { last, settled: before } if last.elapsed() >= LINE_EVERY && (own - *before) * 10 >= tenth => {
                (*last, *before) = (Instant::now(), own);
                let percent = settled * 100 / total.max(1);
                output::say(&format!(
                    "{}: {} of {} ({percent}%){summary}",
                    self.name,
                    text::count(settled),
                    text::count(total)
                ));
            }
            Face::Lines { .. } | Face::Silent => {}
        }
    }

    /// A separate line, not torn by the bar.
    pub fn say(&self, line: &str) {
        match &self.face {
            Face::Bar(bar) => bar.suspend(|| output::say(line)),
            Face::Lines { .. } => output::say(line),
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
                "{}. Resume it with `windrow jobs resume {name}`, or press Ctrl-C to stop waiting. Results so far are saved.",
                style::yellow("Paused")
            ));
        } else if before == Some(RunState::Paused) {
            self.say("Resumed");
        }
    }

    /// Once per change.
    fn tell_of_wait(&mut self, wait: Option<&Wait>, now: Time) {
        let key = wait.map(|wait| (std::mem::discriminant(&wait.hold), wait.resource.clone()));
        if key != self.waiting {
            self.waiting = key;
            if let Some(wait) = wait {
                self.say(&format!("{} {}", style::yellow("note:"), condition(wait, now)));
            }
        }
    }

    /// One line per wave that ended while it was watched.
    fn tell_of_wave(&mut self, run: &RunDetail) {
        let Some(rollout) = run.rollout.as_ref().filter(|rollout| rollout.waves > 1) else { return };
        if self.wave.as_ref().is_some_and(|wave| wave.run == run.id && wave.no == rollout.wave) {
            return;
        }
        let current = Wave { run: run.id.clone(), no: rollout.wave, began: Instant::now(), before: run.items };
        if let Some(ended) = self.wave.replace(current).filter(|wave| wave.run == run.id && wave.no + 1 == rollout.wave)
        {
            self.say(&ended_wave(&ended, &run.items, rollout));
        }
    }

    /// Once per wave.
    fn tell_of_approval(&mut self, run: &RunDetail, holdup: Holdup) {
        if let Holdup::Approval { wave } = holdup
            && self.asked.replace((run.id.clone(), wave)) != Some((run.id.clone(), wave))
        {
            let name = &self.name;
            self.say(&format!("note: wave {} needs approval: windrow jobs approve {name}", wave + 1));
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

/// `✓ wave 1 of 9 (canary)  5 changed  2.1 s · baked 2 min · health check passed`
fn ended_wave(wave: &Wave, now: &ItemCounts, rollout: &RolloutDetail) -> String {
    let changed = now.succeeded - wave.before.succeeded;
    let up_to_date = match now.skipped - wave.before.skipped {
        0 => String::new(),
        n => format!(" · {} up to date", text::count(n)),
    };
    let failed = now.failed - wave.before.failed;
    let canary = if wave.no == 1 && rollout.plan.waves.len() > 1 { " (canary)" } else { "" };
    let mark = if failed == 0 { style::green(style::OK) } else { style::yellow(style::WARNING) };
    let failed = match failed {
        0 => String::new(),
        n => format!(" · {}", style::yellow(format!("{} failed", text::count(n)))),
    };
    let took = text::duration(wave.began.elapsed().as_millis() as i64);
    let baked = match rollout.plan.bake_ms {
        0 => String::new(),
        ms => format!(" · baked {}", text::duration(ms)),
    };
    let checked = if rollout.plan.check { " · health check passed" } else { "" };
    let (no, waves, changed) = (wave.no, rollout.waves, text::count(changed));
    format!("{mark} wave {no} of {waves}{canary}  {changed} changed{up_to_date}{failed}  {took}{baked}{checked}")
}

fn bar(name: &str) -> ProgressBar {
    let chars = if style::is_utf8() { "━━╌" } else { "==-" };
    let style = ProgressStyle::with_template("{prefix:.bold}  {bar:24} {percent:>3}%  {pos}/{len}{wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars(chars);
    ProgressBar::new(0).with_style(style).with_prefix(name.to_owned())
}

/// What the waiting calls wait for: `rate limited by api.openai.com; resuming in 0.6 s`
fn condition(wait: &Wait, now: Time) -> String {
    let host = wait.resource.split(" · ").next().unwrap_or(&wait.resource);
    let left = |what: &str| {
        wait.until.map_or(String::new(), |until| format!("; {what} in {}", text::duration((until - now).max(0))))
    };
    match &wait.hold {
        Hold::Paused { .. } => format!("rate limited by {host}{}", left("resuming")),
        Hold::SlowedDown { limit } => format!("rate limited by {host}; {limit} calls at a time"),
        Hold::CircuitOpen { failures, error } => {
            format!("{host} is failing ({failures} in a row){}: {error}", left("next attempt"))
        }
        Hold::Probing { failures, error } => {
            format!("{host} is failing ({failures} in a row); trying one call: {error}")
        }
        Hold::Unreachable => format!("{host} cannot be reached{}", left("next attempt")),
        _ => wait.sentence(now),
    }
}

/// ` · 3 failed · 410/s · 9.2 s left`; of a part of the job ` · 3 failed · this run 5 of 9 · …`
fn summary(run: &RunDetail, total: i64, rate: Option<f64>) -> String {
    let (shown, part) = (run.whole().unwrap_or(&run.items), run.whole().is_some());
    let left = if part { run.items.total - run.items.settled() } else { total - shown.settled() };
    let rollout = run.rollout.is_some();
    let cap = run.max_failed.filter(|_| rollout).map_or(String::new(), |max| format!(" (cap {})", text::count(max)));
    let mut parts = vec![String::new(), format!("{} failed{cap}", text::count(shown.failed))];
    if part {
        let [done, all] = [run.items.settled(), run.items.total].map(text::count);
        parts.push(format!("this run {done} of {all}"));
    }
    if rollout {
        parts.push(format!("{} running", text::count(run.items.running)));
    }
    if let Some(max) = run.budget.cost_nanos {
        parts.push(format!("{} of {}", text::dollars(run.spent.cost_nanos), text::dollars(max)));
    }
    if let Some(rate) = rate {
        let left_ms = left as f64 / rate * 1000.0;
        parts.push(text::rate(rate));
        parts.push(format!("{} left", text::duration(left_ms.min(1e15) as i64)));
    }
    parts.join(" · ")
}
