//! A store that fails: calls are slow, fail before or after they happened, arrive twice, or are the
//! last thing their process does. What gets through is checked against the rules as it happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use windrow_model::aggregate::Aggregates;
use windrow_model::counters::Counters;
use windrow_model::label::NewLabel;
use windrow_model::limit::Wait;
use windrow_model::priority::STARVATION_BOUND_MS;
use windrow_model::record::*;
use windrow_model::state::{AttemptState, RunEvent};
use windrow_model::step::ContentKey;
use windrow_model::store::*;
use windrow_model::{AttemptId, ErrorClass, ItemId, JobId, Json, Lease, RunId, SessionId, Ticket, Time};
use windrow_store::MemoryStore;

use crate::scenario::Tally;
use crate::work::Ledger;

/// One process's connection to the store.
pub struct FaultyStore {
    pub inner: Arc<MemoryStore>,
    pub ledger: Arc<Ledger>,
    pub tally: Arc<std::sync::Mutex<Tally>>,
    pub chance: std::sync::Mutex<fastrand::Rng>,
    /// Set when the process is to die; it never gets an answer after that.
    pub crashed: AtomicBool,
    pub crash: Notify,
    pub crash_chance: f64,
}

impl FaultyStore {
    fn roll(&self) -> f64 {
        self.chance.lock().unwrap().f64()
    }

    fn calm(&self) -> bool {
        self.ledger.calm.load(Ordering::Relaxed)
    }

    fn count(&self, which: impl FnOnce(&mut Tally)) {
        which(&mut self.tally.lock().unwrap());
    }

    async fn die(&self) -> ! {
        self.crashed.store(true, Ordering::Relaxed);
        self.count(|tally| tally.crashes += 1);
        self.crash.notify_one();
        std::future::pending().await
    }

    /// Before the call reaches the store.
    async fn before(&self) -> Result<()> {
        self.count(|tally| tally.calls += 1);
        if self.crashed.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let (fate, latency) = (self.roll(), self.roll());
        tokio::time::sleep(Duration::from_micros((latency * 3_000.0) as u64)).await;
        if self.calm() {
            return Ok(());
        }
        if fate < self.crash_chance {
            self.die().await;
        }
        if fate < self.crash_chance + 0.01 {
            self.count(|tally| tally.refused += 1);
            return Err(StoreError::Unavailable("refused".into()));
        }
        if fate < self.crash_chance + 0.015 {
            // Longer than a lease: others will think that this one is dead.
            self.count(|tally| tally.stalls += 1);
            tokio::time::sleep(Duration::from_secs(1 + (latency * 40.0) as u64)).await;
        }
        Ok(())
    }

    /// After it happened, before the caller hears of it.
    async fn after(&self) -> Result<()> {
        if self.calm() {
            return Ok(());
        }
        let fate = self.roll();
        if fate < self.crash_chance {
            self.die().await;
        }
        if fate < self.crash_chance + 0.01 {
            self.count(|tally| tally.answers_lost += 1);
            return Err(StoreError::Unavailable("answer lost".into()));
        }
        Ok(())
    }

    async fn attempt(&self, id: AttemptId) -> Option<Attempt> {
        let detail = self.inner.item(id.item()).await.ok()?;
        detail.attempts.into_iter().find(|attempt| attempt.id == id)
    }

    /// Reports reach the store one by one here, so that each can be held against what was true before.
    async fn checked_report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>> {
        let mut receipts = Vec::new();
        for report in reports.iter().cloned() {
            let lease = report.lease;
            let before = self.attempt(lease.attempt).await;
            let holds = before.as_ref().is_some_and(|a| a.state == AttemptState::Running && a.fence == lease.fence);
            let receipt = self.inner.report([report].into(), now).await?[0];
            if receipt == Receipt::Accepted && !holds {
                self.ledger.violation(format!("a stale report on {} got through", lease.attempt));
            }
            let unchanged = self.attempt(lease.attempt).await == before;
            if receipt != Receipt::Accepted && !unchanged {
                self.ledger.violation(format!("a refused report on {} changed it", lease.attempt));
            }
            self.count(|tally| match receipt {
                Receipt::Stale => tally.stale += 1,
                Receipt::Repeated => tally.repeated += 1,
                Receipt::Stop => tally.stopped += 1,
                Receipt::Accepted => {}
            });
            receipts.push(receipt);
        }
        Ok(receipts)
    }

    /// A copy of some report from long ago arrives: its lease may have been given back and taken again.
    async fn late_delivery(&self, reports: &[Report], now: Time) -> Result<()> {
        let (fate, which) = (self.roll(), self.roll());
        let late = {
            let mut astray = self.ledger.astray.lock().unwrap();
            astray.extend(reports.iter().cloned());
            let n = (which * astray.len() as f64) as usize;
            let late = (!self.calm() && fate < 0.1 && !astray.is_empty()).then(|| astray.swap_remove(n));
            let excess = astray.len().saturating_sub(64);
            astray.drain(..excess);
            late
        };
        if let Some(late) = late {
            self.count(|tally| tally.late += 1);
            self.checked_report([late].into(), now).await?;
        }
        Ok(())
    }

    async fn check_concurrency(&self, run: RunId, now: Time) {
        if let Ok(standing) = self.inner.diagnose(run, now).await
            && standing.leased > standing.concurrency
        {
            self.ledger.violation(format!("{run} has {} of {} leases", standing.leased, standing.concurrency));
        }
    }

    /// Whatever happens to all that is in flight, the cap holds.
    async fn check_cap(&self, run: RunId) {
        if let Ok(run) = self.inner.run(run).await
            && let Some(max) = run.limits.max_failed
            && run.counters.failed + run.counters.running > max
        {
            self.ledger.violation(format!("{}: {:?} under a cap of {max}", run.id, run.counters));
        }
    }

    /// Nothing starts before all that comes in earlier waves is settled.
    async fn check_waves(&self, run: RunId, claimed: &[Claimed]) {
        let Ok(run) = self.inner.run(run).await else { return };
        let Some(rollout) = &run.rollout else { return };
        for claimed in claimed {
            let wave = self.attempt(claimed.lease.attempt).await.map_or(0, |attempt| attempt.wave);
            let before = if wave == 0 { 0 } else { rollout.up_to(wave - 1) };
            if run.counters.settled() < before {
                self.ledger.violation(format!("{} of wave {wave} started too early", claimed.lease.attempt));
            }
        }
    }

    /// T5: whoever is left waiting ranks behind whoever was taken, and was overtaken within the bound.
    async fn check_order(&self, taken: &[Held], now: Time) {
        let all = self.inner.jobs(JobFilter { limit: usize::MAX, ..Default::default() }).await.unwrap();
        for (_, waiting) in all.iter().filter(|(_, run)| run.awaits_coordinator(now)) {
            for held in taken.iter().filter(|held| !held.run.state.is_stopping()) {
                if waiting.rank < held.run.rank {
                    self.ledger.violation(format!("{} was taken before {}", held.run.id, waiting.id));
                }
                if held.run.created_at - waiting.created_at > STARVATION_BOUND_MS {
                    self.ledger.violation(format!("{} starves beyond the bound", waiting.id));
                }
            }
        }
    }
}

/// The verbs that need no checking of their own.
macro_rules! pass_on {
    ($self:ident, $call:expr) => {{
        $self.before().await?;
        let answer = $call.await?;
        $self.after().await?;
        Ok(answer)
    }};
}

#[async_trait]
impl Queue for FaultyStore {
    async fn open_session(&self, session: Session) -> Result<()> {
        self.inner.open_session(session).await
    }
    async fn beat(&self, session: SessionId, lease_ms: i64, now: Time) -> Result<Beat> {
        pass_on!(self, self.inner.beat(session, lease_ms, now))
    }
    async fn drain(&self, session: SessionId) -> Result<()> {
        pass_on!(self, self.inner.drain(session))
    }
    async fn runs_elsewhere(&self, session: SessionId, scope: Scope, now: Time) -> Result<Vec<Run>> {
        pass_on!(self, self.inner.runs_elsewhere(session, scope, now))
    }
    async fn expire_session(&self, session: SessionId, now: Time) -> Result<()> {
        pass_on!(self, self.inner.expire_session(session, now))
    }
    async fn note_waits(&self, session: SessionId, waits: Vec<Wait>) -> Result<()> {
        pass_on!(self, self.inner.note_waits(session, waits))
    }
    async fn sessions(&self) -> Result<Vec<Session>> {
        pass_on!(self, self.inner.sessions())
    }
    async fn submit(&self, submission: Submission, now: Time) -> Result<Submitted> {
        pass_on!(self, self.inner.submit(submission, now))
    }
    async fn admit(&self, admission: Admission, now: Time) -> Result<Vec<Held>> {
        self.before().await?;
        let taken = self.inner.admit(admission, now).await?;
        self.check_order(&taken, now).await;
        self.after().await?;
        Ok(taken)
    }
    async fn plan_items(&self, page: PlanPage, now: Time) -> Result<Planned> {
        self.before().await?;
        let answer = self.inner.plan_items(page.clone(), now).await?;
        if self.roll() < 0.05 {
            self.count(|tally| tally.doubled += 1);
            let again = self.inner.plan_items(page, now).await?;
            if again.created + again.requeued > 0 {
                self.ledger.violation("a page was planned twice".into());
            }
        }
        self.after().await?;
        Ok(answer)
    }
    async fn replan_items(&self, ticket: Ticket, selection: Selection, limit: usize, now: Time) -> Result<Planned> {
        pass_on!(self, self.inner.replan_items(ticket, selection, limit, now))
    }
    async fn feed_items(&self, run: RunId, items: Vec<NewItem>, now: Time) -> Result<Planned> {
        pass_on!(self, self.inner.feed_items(run, items, now))
    }
    async fn claim(&self, claim: Claim, now: Time) -> Result<Vec<Claimed>> {
        self.before().await?;
        let run = claim.run;
        let claimed = self.inner.claim(claim, now).await?;
        self.check_concurrency(run, now).await;
        self.check_cap(run).await;
        self.check_waves(run, &claimed).await;
        self.after().await?;
        Ok(claimed)
    }
    async fn history(&self, attempt: AttemptId) -> Result<Vec<Step>> {
        pass_on!(self, self.inner.history(attempt))
    }
    async fn shared_step(&self, run: RunId, key: ContentKey) -> Result<Option<Step>> {
        pass_on!(self, self.inner.shared_step(run, key))
    }
    async fn renew(&self, leases: Vec<Lease>, lease_ms: i64, now: Time) -> Result<Vec<Renewal>> {
        pass_on!(self, self.inner.renew(leases, lease_ms, now))
    }
    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>> {
        self.before().await?;
        let receipts = self.checked_report(reports.clone(), now).await?;
        if !self.calm() && self.roll() < 0.03 {
            self.count(|tally| tally.doubled += 1);
            self.checked_report(reports.clone(), now).await?;
        }
        self.late_delivery(&reports, now).await?;
        self.after().await?;
        Ok(receipts)
    }
    async fn archive(&self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived> {
        pass_on!(self, self.inner.archive(ticket, limit, now))
    }
    async fn reap(&self, limit: usize, now: Time) -> Result<Reaped> {
        self.before().await?;
        let reaped = self.inner.reap(limit, now).await?;
        self.count(|tally| tally.reaped += (reaped.lost + reaped.abandoned) as u64);
        self.after().await?;
        Ok(reaped)
    }
    async fn cancel_items(&self, ticket: Ticket, limit: usize, now: Time) -> Result<i64> {
        pass_on!(self, self.inner.cancel_items(ticket, limit, now))
    }
    async fn open_wave(&self, ticket: Ticket, wave: i64, now: Time) -> Result<Run> {
        self.before().await?;
        let run = self.inner.open_wave(ticket, wave, now).await?;
        self.count(|tally| tally.waves += 1);
        self.after().await?;
        Ok(run)
    }
    async fn halt(&self, ticket: Ticket, reason: &str, now: Time) -> Result<Run> {
        pass_on!(self, self.inner.halt(ticket, reason, now))
    }
    async fn yield_run(&self, ticket: Ticket, now: Time) -> Result<()> {
        pass_on!(self, self.inner.yield_run(ticket, now))
    }
    async fn close_run(&self, ticket: Ticket, closing: Closing, now: Time) -> Result<Run> {
        pass_on!(self, self.inner.close_run(ticket, closing, now))
    }
    async fn summarize_run(&self, run: RunId, summary: Summary, now: Time) -> Result<()> {
        pass_on!(self, self.inner.summarize_run(run, summary, now))
    }
    async fn unsummarized_runs(&self, limit: usize) -> Result<Vec<RunId>> {
        pass_on!(self, self.inner.unsummarized_runs(limit))
    }
    async fn request_transition(
        &self,
        run: RunId,
        event: RunEvent,
        actor: &str,
        reason: Option<&str>,
        now: Time,
    ) -> Result<Run> {
        pass_on!(self, self.inner.request_transition(run, event, actor, reason, now))
    }
    async fn approve(&self, run: RunId, wave: i64, actor: &str, now: Time) -> Result<Run> {
        pass_on!(self, self.inner.approve(run, wave, actor, now))
    }
    async fn amend(&self, run: RunId, limits: RunLimits, actor: &str, now: Time) -> Result<Run> {
        pass_on!(self, self.inner.amend(run, limits, actor, now))
    }
    async fn schedule(&self, job: JobId, schedule: Option<Schedule>, actor: &str, now: Time) -> Result<()> {
        pass_on!(self, self.inner.schedule(job, schedule, actor, now))
    }
    async fn log(&self, entries: Vec<NewLog>, now: Time) -> Result<()> {
        pass_on!(self, self.inner.log(entries, now))
    }
    async fn outbox(&self, after: i64, limit: usize) -> Result<Vec<OutboxEvent>> {
        pass_on!(self, self.inner.outbox(after, limit))
    }
    async fn outbox_reach(&self) -> Result<OutboxReach> {
        pass_on!(self, self.inner.outbox_reach())
    }
    async fn forget_outbox(&self, up_to: i64) -> Result<()> {
        pass_on!(self, self.inner.forget_outbox(up_to))
    }
    async fn label_items(&self, job: JobId, labels: Vec<NewLabel>, author: &str, now: Time) -> Result<i64> {
        pass_on!(self, self.inner.label_items(job, labels, author, now))
    }

    async fn forget_result_changes(&self, job: JobId, up_to: i64, keep: usize) -> Result<()> {
        pass_on!(self, self.inner.forget_result_changes(job, up_to, keep))
    }
    async fn jobs_with_changes(&self, more_than: usize) -> Result<Vec<JobId>> {
        pass_on!(self, self.inner.jobs_with_changes(more_than))
    }
    async fn cost_of_workspace(&self, workspace: &str) -> Result<i64> {
        self.inner.cost_of_workspace(workspace).await
    }

    async fn pin(&self, job: JobId, pinned: bool, actor: &str, now: Time) -> Result<()> {
        pass_on!(self, self.inner.pin(job, pinned, actor, now))
    }

    async fn clean_up(&self, retention: Retention, limit: usize, now: Time) -> Result<i64> {
        pass_on!(self, self.inner.clean_up(retention, limit, now))
    }
    async fn delete_job(&self, job: JobId) -> Result<()> {
        self.inner.delete_job(job).await
    }
    async fn sweep_jobs(&self, limit: usize) -> Result<i64> {
        self.inner.sweep_jobs(limit).await
    }
    async fn job(&self, id: JobId) -> Result<Job> {
        pass_on!(self, self.inner.job(id))
    }
    async fn due_jobs(&self, limit: usize, now: Time) -> Result<Vec<Job>> {
        pass_on!(self, self.inner.due_jobs(limit, now))
    }
    async fn run(&self, id: RunId) -> Result<Run> {
        pass_on!(self, self.inner.run(id))
    }
    async fn spec(&self, hash: &str) -> Result<Json> {
        pass_on!(self, self.inner.spec(hash))
    }
    async fn outline(&self, id: ItemId) -> Result<ItemDetail> {
        pass_on!(self, self.inner.outline(id))
    }

    async fn newest_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
        pass_on!(self, self.inner.newest_steps(attempt, limit))
    }
    async fn failed_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
        pass_on!(self, self.inner.failed_steps(attempt, limit))
    }
    async fn aggregates(&self, run: RunId) -> Result<Aggregates> {
        pass_on!(self, self.inner.aggregates(run))
    }
    async fn failed_classes(&self, run: RunId) -> Result<Vec<ErrorClass>> {
        pass_on!(self, self.inner.failed_classes(run))
    }
    async fn recount(&self, run: RunId) -> Result<Counters> {
        pass_on!(self, self.inner.recount(run))
    }
}
