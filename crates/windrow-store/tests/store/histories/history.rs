//! One job and what happens to it. What is not possible at the moment is left out, as a person would be told.

use windrow_model::record::Run;
use windrow_model::state::{Mode, Outcome, RunEvent, RunState};
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::{JobId, Json, SessionId, Ticket, Time};

use super::Act;
use super::plain;
use crate::fixture::*;

const KINDS: [&str; 4] = ["experiment", "operation", "ingest", "task"];
/// Rounds in which any run is over: items wait for their time, for a resource and for lost workers.
const ROUNDS: usize = 30;

pub struct History<'a> {
    store: &'a dyn Store,
    n: i64,
    kind: &'static str,
    born: i64,
    now: Time,
    job: Option<JobId>,
    sessions: [SessionId; 2],
    /// Which of them coordinates next.
    turn: usize,
    ticket: Option<Ticket>,
}

impl<'a> History<'a> {
    pub async fn new(store: &'a dyn Store, n: i64, kind: u8) -> Self {
        let sessions = [1, 2].map(|m| SessionId(n * 10 + m));
        for id in sessions {
            store.open_session(session(id.0)).await.unwrap();
        }
        let kind = KINDS[usize::from(kind)];
        Self { store, n, kind, born: 0, now: T0, job: None, sessions, turn: 0, ticket: None }
    }

    pub async fn play(&mut self, act: &Act) {
        self.now = self.now + 10;
        match act {
            Act::Run { mode, rows } => self.run(*mode, rows).await,
            Act::Work { endings } => {
                self.work(endings).await;
                self.archive(endings.len()).await;
            }
            Act::Finish { endings } => self.finish(endings).await,
            Act::Crash => {
                self.now = self.now + 2 * LEASE_MS;
                self.store.reap(100, self.now).await.unwrap();
            }
            Act::TakeOver => {
                self.now = self.now + 2 * LEASE_MS;
                self.turn += 1;
                self.admit().await;
            }
            Act::Request(event) => self.request(RunEvent::ALL[*event]).await,
            Act::Delete => self.delete().await,
        }
    }

    /// Everything that the job says is compared with what its rows say.
    pub async fn adds_up(&self, act: &Act) {
        match self.job {
            Some(job) => plain::compare(self.store, job, &format!("after {act:?}")).await,
            None => assert_eq!(self.store.find_job("w", &self.name()).await.unwrap(), None),
        }
    }

    /// Nothing of it is left to claim or to take over for the next history.
    pub async fn clean_up(&mut self) {
        self.finish(&[0]).await;
        self.adds_up(&Act::Finish { endings: vec![0] }).await;
        self.delete().await;
        for id in self.sessions {
            self.store.expire_session(id, self.now).await.unwrap();
        }
    }

    fn name(&self) -> String {
        format!("history {}", self.n)
    }

    fn id(&mut self) -> i64 {
        self.born += 1;
        self.n * 1_000 + self.born
    }

    /// The latest run, if it is not over.
    async fn active(&self) -> Option<Run> {
        let run = self.store.runs(self.job?).await.unwrap().pop()?;
        (!run.state.is_final()).then_some(run)
    }

    async fn run(&mut self, mode: u8, rows: &[u8]) {
        use Mode::*;
        if self.active().await.is_some() {
            return;
        }
        const MODES: [Mode; 12] = [
            Submit, Submit, Submit, FailRetry, FailRetry, FailRetry, Append, Append, Online, Rescore, Rollback,
            Rollback,
        ];
        let (id, mode) = (self.id(), MODES[usize::from(mode)]);
        let kind = self.kind.to_owned();
        let submitted = Submission { mode, kind, ..submission(id, &self.name()) };
        let Ok(submitted) = self.store.submit(submitted, self.now).await else { return };
        self.ticket = None;
        self.job = Some(self.store.run(submitted.run).await.unwrap().job);
        self.admit().await;
        self.plan(rows).await;
    }

    async fn admit(&mut self) {
        let Some(run) = self.active().await else { return };
        let session = self.sessions[self.turn % 2];
        let held = self.store.admit(admission(session.0, 10), self.now).await.unwrap();
        if let Some(held) = held.iter().find(|held| held.run.id == run.id) {
            self.ticket = Some(held.ticket);
        }
    }

    async fn plan(&mut self, rows: &[u8]) {
        let (Some(run), Some(ticket)) = (self.active().await, self.ticket) else { return };
        if !run.state.dispatches() {
            return;
        }
        let items: Vec<NewItem> = rows.iter().map(|row| self.item(*row)).collect();
        if run.mode == Mode::Online {
            if run.state == RunState::Running {
                self.store.feed_items(run.id, items, self.now).await.unwrap();
                self.request(RunEvent::Drain).await;
            }
        } else if run.mode.reads_source() {
            let (first, second) = items.split_at(items.len() / 2);
            let pages = [(None, first, Some(1)), (Some(1), second, Some(2))];
            for (from, items, to) in pages {
                let [from, to] = [from, to].map(|place| place.map(|place| Json::of(&place)));
                let page = PlanPage { ticket, from, done: to == Some(Json::of(&2)), to, items: items.to_vec() };
                held(self.store.plan_items(page, self.now).await);
            }
        } else {
            let selection = Selection::of(run.mode);
            while held(self.store.replan_items(ticket, selection.clone(), 3, self.now).await)
                .is_some_and(|page| !page.done)
            {}
        }
    }

    /// Trials of a row, rows that share a resource, rows with variants.
    fn item(&self, row: u8) -> NewItem {
        NewItem {
            resource: row.is_multiple_of(5).then(|| format!("printer {}", self.n)),
            not_before: row.is_multiple_of(7).then_some(self.now + 500),
            group: (row >= 10).then(|| ContentKey::of(&[&[row % 3]])),
            variant: (row >= 13).then(|| format!("v{}", row % 2)),
            ..new_item(u64::from(row))
        }
    }

    async fn work(&mut self, endings: &[u8]) {
        let Some(run) = self.active().await else { return };
        let session = self.sessions[self.turn % 2];
        let claim = Claim { run: run.id, session, want: endings.len(), lease_ms: LEASE_MS };
        let claimed = self.store.claim(claim, self.now).await.unwrap();
        for (claimed, n) in claimed.iter().zip(endings) {
            let step = StepWrite::Whole { no: 0, intent: intent("call"), result: done("call"), took_ms: 7 };
            let steps = if n % 2 == 0 { vec![step] } else { Vec::new() };
            let report = Report { lease: claimed.lease, steps, ending: ending(*n, self.now) };
            self.store.report([report].into(), self.now).await.unwrap();
        }
    }

    async fn archive(&mut self, limit: usize) {
        if let (Some(_), Some(ticket)) = (self.active().await, self.ticket) {
            held(self.store.archive(ticket, limit, self.now).await);
        }
    }

    async fn finish(&mut self, endings: &[u8]) {
        for _ in 0..ROUNDS {
            let Some(run) = self.active().await else { return };
            if run.state == RunState::Paused {
                self.request(RunEvent::Resume).await;
            }
            self.now = self.now + 2 * LEASE_MS;
            self.admit().await;
            let Some(ticket) = self.ticket else { continue };
            if !run.planned {
                self.plan(&[]).await;
            }
            self.work(endings).await;
            self.now = self.now + 2 * LEASE_MS;
            self.store.reap(100, self.now).await.unwrap();
            held(self.store.archive(ticket, 100, self.now).await);
            if run.state.is_stopping() {
                held(self.store.cancel_items(ticket, 100, self.now).await);
            }
            let run = self.store.run(run.id).await.unwrap();
            let is_planned = run.planned || run.state.is_stopping();
            if is_planned && run.counters.unsettled() == 0 && run.state != RunState::Paused {
                held(self.store.close_run(ticket, Closing::default(), self.now).await);
            }
        }
        // What is done again and again ends with a request.
        self.request(RunEvent::Terminate).await;
        Box::pin(self.finish(&[0])).await;
    }

    async fn request(&mut self, event: RunEvent) {
        let Some(run) = self.active().await else { return };
        // Coordinators alone do these.
        if !matches!(event, RunEvent::Admit | RunEvent::Close) {
            let _ = self.store.request_transition(run.id, event, "test", None, self.now).await;
        }
    }

    async fn delete(&mut self) {
        let Some(job) = self.job else { return };
        if self.store.delete_job(job).await.is_ok() {
            while self.store.sweep_jobs(7).await.unwrap() > 0 {}
            (self.job, self.ticket) = (None, None);
        }
    }
}

/// What a coordinator is answered, unless another has taken the run.
fn held<T>(answer: Result<T>) -> Option<T> {
    match answer {
        Err(StoreError::Stale { .. }) => None,
        answer => Some(answer.unwrap()),
    }
}

fn ending(n: u8, now: Time) -> Ending {
    let odd = |verdict| Score { verdict, value: None, ..score("odd", 0.0) };
    let value = f64::from(n % 8) / 7.0;
    match n {
        0..=4 => hand_in(Outcome::Succeeded, vec![score("exact", value), score("close", 1.0 - value)]),
        5 => hand_in(Outcome::Succeeded, vec![score("exact", value), odd(Verdict::Error)]),
        6 => hand_in(Outcome::Succeeded, vec![odd(Verdict::Skipped), Score { turn: 1, ..score("exact", 0.1) }]),
        7 => hand_in(Outcome::Skipped, Vec::new()),
        8 | 9 => hand_in(Outcome::Failed, Vec::new()),
        10 => hand_in(Outcome::Failed, vec![score("exact", value)]),
        11 => Ending::Retry {
            failure: windrow_model::failure::Failure::new(windrow_model::failure::ErrorClass::Network, "down"),
            not_before: now + 100,
        },
        12 => Ending::Release,
        13 => {
            let usage = Usage { tokens_in: 3, tokens_out: 1, cost_nanos: 1 };
            Ending::Partial { scores: vec![score("exact", value)], usage, latency_ms: 5 }
        }
        // Its worker is never heard of again.
        _ => Ending::None,
    }
}
