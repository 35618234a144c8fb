//! One connector: its desired state, its actual state, and when the desired state takes effect.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    Paused,
    Stopped,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "RUNNING",
            State::Paused => "PAUSED",
            State::Stopped => "STOPPED",
        }
    }
}

pub struct Connector {
    pub config: Map<String, Value>,
    pub offsets: Vec<Value>,
    /// How often the configuration was put and the offsets were changed.
    pub puts: u64,
    pub patches: u64,
    wanted: State,
    before: State,
    /// When the connector has the desired state, and when its tasks have it: later.
    shown_at: Instant,
    applied_at: Instant,
    /// The tasks fail after a change of the configuration.
    pub breaks: bool,
    failed: bool,
}

impl Connector {
    pub fn new(config: Map<String, Value>, offsets: Vec<Value>, state: State, now: Instant) -> Self {
        let (wanted, before) = (state, state);
        Self {
            config,
            offsets,
            puts: 0,
            patches: 0,
            wanted,
            before,
            shown_at: now,
            applied_at: now,
            breaks: false,
            failed: false,
        }
    }

    pub fn want(&mut self, state: State, delay: Duration, now: Instant) {
        self.before = self.state(now);
        self.wanted = state;
        (self.shown_at, self.applied_at) = (now + delay / 2, now + delay);
        self.failed &= state != State::Running;
    }

    pub fn put(&mut self, config: Map<String, Value>, delay: Duration, now: Instant) {
        self.puts += 1;
        self.failed = self.breaks && config != self.config;
        self.config = config;
        self.want_again(delay, now);
    }

    /// Restarts the tasks.
    pub fn want_again(&mut self, delay: Duration, now: Instant) {
        self.before = self.state(now);
        (self.shown_at, self.applied_at) = (now + delay / 2, now + delay);
    }

    /// Of its tasks.
    pub fn state(&self, now: Instant) -> State {
        if now >= self.applied_at { self.wanted } else { self.before }
    }

    /// The connector has tasks, or will have them.
    pub fn may_run(&self, now: Instant) -> bool {
        self.wanted != State::Stopped || self.state(now) != State::Stopped
    }

    /// Its tasks run and read the database.
    pub fn reads(&self, now: Instant) -> bool {
        self.state(now) == State::Running && !self.failed
    }

    pub fn is_stopped(&self, now: Instant) -> bool {
        !self.may_run(now)
    }

    pub fn status(&self, name: &str, now: Instant) -> Value {
        let state = self.state(now);
        let shown = if now >= self.shown_at { self.wanted } else { self.before };
        let settling = now < self.applied_at;
        let count = self.config.get("tasks.max").and_then(Value::as_str).and_then(|n| n.parse().ok()).unwrap_or(1);
        let tasks: Vec<Value> = match state {
            State::Stopped => Vec::new(),
            _ => (0..count).map(|id: usize| self.task(id, state, settling)).collect(),
        };
        json!({ "name": name, "connector": { "state": shown.as_str(), "worker_id": "mock:8083" }, "tasks": tasks, "type": "source" })
    }

    fn task(&self, id: usize, state: State, settling: bool) -> Value {
        match (self.failed, settling, state) {
            (_, true, State::Running) => json!({ "id": id, "state": "RESTARTING", "worker_id": "mock:8083" }),
            (true, false, State::Running) => {
                json!({ "id": id, "state": "FAILED", "worker_id": "mock:8083", "trace": "ConnectException: injected failure\n\tat …" })
            }
            _ => json!({ "id": id, "state": state.as_str(), "worker_id": "mock:8083" }),
        }
    }
}
