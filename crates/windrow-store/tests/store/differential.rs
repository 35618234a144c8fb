//! The memory store is the specification: for any generated history, a database must return the same result for every
//! call and contain the same rows at the end. proptest shrinks a failing history.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use windrow_model::counters::JobCounters;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::health::{Check, HealthSnapshot, HealthThresholds};
use windrow_model::item_query::{Condition, ItemQuery, Sort};
use windrow_model::label::NewLabel;
use windrow_model::limit::{Hold, Wait};
use windrow_model::priority::Priority;
use windrow_model::record::{Run, RunLimits, Schedule, Step};
use windrow_model::rollout::{Approval, OnFailure, Rollout};
use windrow_model::state::{ItemState, Mode, Outcome, RunEvent, StepState};
use windrow_model::step::{ContentKey, Score, StepResult, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::{ItemId, JobId, Json, Lease, RunId, SessionId, Ticket, Time};
use windrow_store::MemoryStore;

use crate::databases;
use crate::fixture::*;
use crate::replica::Replica;

/// One store call with small numbers, which are mapped to existing ids during the replay.
#[derive(Debug, Clone)]
enum Op {
    Open,
    Beat(usize),
    Bury(usize),
    Submit { job: u8, mode: u8, priority: u8, concurrency: u8, key: u8, budget: u8 },
    Admit { session: usize, places: u8, region: bool },
    Plan { ticket: usize, rows: Vec<u8>, done: bool, repeat: bool },
    Replan { ticket: usize, limit: u8, reverse: bool, narrow: u8 },
    Amend { run: usize, budget: u8 },
    Schedule { job: u8, on: bool },
    Due,
    Feed { run: usize, rows: Vec<u8> },
    Claim { run: usize, session: usize, want: u8 },
    Renew { leases: Vec<usize> },
    Report { reports: Vec<(usize, u8, u8)> },
    Archive { ticket: usize, limit: u8 },
    Reap { limit: u8 },
    Cancel { ticket: usize, limit: u8 },
    Yield { ticket: usize },
    Close { ticket: usize },
    Summarize { run: usize },
    Intend { run: usize, event: usize },
    CleanUp { limit: u8 },
    Delete { job: u8, limit: u8 },
    Search { job: u8, condition: usize, sort: usize, limit: u8, scan: u8 },
    Forget { up_to: i64 },
    Label { job: u8, item: usize, word: u8 },
    Note { session: usize, runs: Vec<usize> },
    OpenWave { ticket: usize, skip: bool },
    Halt { ticket: usize },
    Approve { run: usize, wave: u8 },
    Wait { ms: i64 },
}

fn op() -> impl Strategy<Value = Op> {
    let n = 0usize..64;
    let rows = || prop::collection::vec(0u8..24, 0..8);
    prop_oneof![
        1 => Just(Op::Open),
        1 => n.clone().prop_map(Op::Beat),
        1 => n.clone().prop_map(Op::Bury),
        4 => (0u8..4, any::<u8>(), 1u8..=9, 0u8..6, any::<u8>(), 0u8..40).prop_map(|(job, mode, priority, concurrency, key, budget)| {
            Op::Submit { job, mode, priority, concurrency, key, budget }
        }),
        4 => (n.clone(), 0u8..4, any::<bool>()).prop_map(|(session, places, region)| Op::Admit { session, places, region }),
        6 => (n.clone(), rows(), any::<bool>(), any::<bool>())
            .prop_map(|(ticket, rows, done, repeat)| Op::Plan { ticket, rows, done, repeat }),
        2 => (n.clone(), 1u8..5, any::<bool>(), 0u8..8)
            .prop_map(|(ticket, limit, reverse, narrow)| Op::Replan { ticket, limit, reverse, narrow }),
        1 => (n.clone(), 0u8..40).prop_map(|(run, budget)| Op::Amend { run, budget }),
        1 => (0u8..4, any::<bool>()).prop_map(|(job, on)| Op::Schedule { job, on }),
        1 => Just(Op::Due),
        1 => (n.clone(), rows()).prop_map(|(run, rows)| Op::Feed { run, rows }),
        8 => (n.clone(), n.clone(), 1u8..6).prop_map(|(run, session, want)| Op::Claim { run, session, want }),
        1 => prop::collection::vec(n.clone(), 0..4).prop_map(|leases| Op::Renew { leases }),
        12 => prop::collection::vec((n.clone(), 0u8..7, 0u8..8), 1..4).prop_map(|reports| Op::Report { reports }),
        5 => (n.clone(), 1u8..6).prop_map(|(ticket, limit)| Op::Archive { ticket, limit }),
        2 => (1u8..6).prop_map(|limit| Op::Reap { limit }),
        2 => (n.clone(), 1u8..6).prop_map(|(ticket, limit)| Op::Cancel { ticket, limit }),
        1 => n.clone().prop_map(|ticket| Op::Yield { ticket }),
        4 => n.clone().prop_map(|ticket| Op::Close { ticket }),
        2 => n.clone().prop_map(|run| Op::Summarize { run }),
        3 => (n.clone(), 0usize..RunEvent::ALL.len()).prop_map(|(run, event)| Op::Intend { run, event }),
        1 => (1u8..10).prop_map(|limit| Op::CleanUp { limit }),
        1 => (0u8..4, 1u8..10).prop_map(|(job, limit)| Op::Delete { job, limit }),
        3 => (0u8..4, 0usize..64, 0usize..64, 1u8..5, 1u8..6)
            .prop_map(|(job, condition, sort, limit, scan)| Op::Search { job, condition, sort, limit, scan }),
        1 => (0i64..20).prop_map(|up_to| Op::Forget { up_to }),
        2 => (0u8..4, n.clone(), 0u8..4).prop_map(|(job, item, word)| Op::Label { job, item, word }),
        1 => (n.clone(), prop::collection::vec(n.clone(), 0..3)).prop_map(|(session, runs)| Op::Note { session, runs }),
        5 => (n.clone(), any::<bool>()).prop_map(|(ticket, skip)| Op::OpenWave { ticket, skip }),
        1 => n.clone().prop_map(|ticket| Op::Halt { ticket }),
        2 => (n.clone(), 0u8..4).prop_map(|(run, wave)| Op::Approve { run, wave }),
        4 => prop_oneof![Just(1i64), Just(500), Just(16_000), Just(61_000), Just(3_600_000)].prop_map(|ms| Op::Wait { ms }),
    ]
}

const CONDITIONS: &[&str] = &[
    "",
    "state = failed",
    "state in (failed, cancelled) and tries > 1",
    "not state = succeeded",
    "score.exact < 0.5 or score.exact is null",
    "not score.exact >= 0.5",
    "verdict.odd = error",
    "verdict.odd != error",
    "error in (server, lost) and message ~ broke",
    "error not in (server)",
    "latency_ms > 5 and cost > 0.000000001 and tokens >= 15",
    "(row < 4 or row >= 9) and finished_at is not null",
];
const SORTS: &[&str] = &[
    "",
    "",
    "row",
    "-row",
    "state",
    "-latency_ms",
    "score.exact",
    "-score.exact",
    "score.none",
    "error",
    "-tokens",
    "cost",
    "-finished_at",
    "tries",
];

/// Everything that the history has returned so far, including stale tickets and leases, for reuse.
#[derive(Default)]
struct Seen {
    now: i64,
    born: i64,
    sessions: Vec<SessionId>,
    runs: Vec<RunId>,
    tickets: Vec<Ticket>,
    leases: Vec<Lease>,
}

fn pick<T: Copy>(all: &[T], n: usize) -> Option<T> {
    (!all.is_empty()).then(|| all[n % all.len()])
}

fn item(row: u8, now: Time) -> NewItem {
    NewItem {
        key: ContentKey::of(&[&[row]]),
        input: Json::of(&row),
        priority: Priority::new(1 + i64::from(row % 9)).unwrap(),
        resource: row.is_multiple_of(3).then(|| format!("r{}", row % 2)),
        not_before: row.is_multiple_of(5).then_some(now + 700),
        // Rows 12 to 23 are trials of three rows; rows below 3 are their first trials.
        group: (!(3..12).contains(&row)).then(|| ContentKey::of(&[&[row % 3]])),
        variant: (row >= 18).then(|| format!("v{}", row % 2)),
        // Row 11 names its id: its content may differ from one time to the next.
        by_id: row == 11,
    }
}

/// Mostly without a budget, otherwise with one that a few steps reach.
fn budgeted(n: u8) -> RunLimits {
    let tokens = (n < 10).then_some(i64::from(n) + 1);
    let cost = (10..20).contains(&n).then_some(i64::from(n) - 9);
    let max_failed = (20..24).contains(&n).then_some(i64::from(n) - 19);
    RunLimits { max_tokens: tokens, max_cost_nanos: cost, max_failed, ..RunLimits::default() }
}

/// Every other run has waves.
fn rollout(n: u8) -> Option<Rollout> {
    let words = usize::from(n / 2);
    n.is_multiple_of(2).then(|| Rollout {
        waves: vec![1 + i64::from(n % 3), 2],
        bake_ms: if n.is_multiple_of(4) { 500 } else { 0 },
        approval: Approval::ALL[words % Approval::ALL.len()],
        check: n.is_multiple_of(6),
        on_failure: OnFailure::ALL[words % OnFailure::ALL.len()],
        freeze: Vec::new(),
    })
}

fn closing(now: Time) -> Closing {
    Closing { next_at: (now.0 % 3 == 0).then_some(now + 1000), ..Closing::default() }
}

/// A rollback of the same job.
async fn follow_up(store: &dyn Store, run: RunId, born: &mut i64) -> Option<Box<Submission>> {
    let job = store.job(store.run(run).await.ok()?.job).await.ok()?;
    *born += 1;
    let then = Submission { mode: Mode::Rollback, kind: job.kind.clone(), ..submission(*born, &job.name) };
    Some(Box::new(then))
}

/// Computed from the steps.
async fn spent_in(store: &dyn Store, run: &Run) -> Usage {
    let mut spent = Usage::default();
    let filter = ItemFilter { job: run.job, run: None, state: None, after: None, limit: 1000 };
    for item in store.items(filter).await.unwrap() {
        let detail = store.item(item.id).await.unwrap();
        let own = |step: &&Step| detail.attempts.iter().any(|a| a.id == step.id.attempt() && a.run == run.id);
        let done = detail.steps.iter().filter(|step| step.state == StepState::Done).filter(own);
        done.for_each(|step| spent += step.usage);
    }
    spent
}

fn step_writes(n: u8) -> Vec<StepWrite> {
    let failed = StepResult::Failed { failure: Failure::new(ErrorClass::Timeout, "slow").retry_after(Some(5)) };
    match n {
        0 => vec![],
        1 => vec![StepWrite::Begin { no: 0, intent: intent("a") }],
        2 => vec![StepWrite::Finish { no: 0, result: done("a"), shared: true }],
        3 => vec![
            StepWrite::Begin { no: 1, intent: intent("b") },
            StepWrite::Finish { no: 1, result: failed, shared: false },
        ],
        4 => vec![StepWrite::Whole { no: 2, intent: intent("c"), result: done("c"), took_ms: 7 }],
        5 => vec![StepWrite::Reuse {
            no: 3,
            intent: intent("d"),
            from: windrow_model::StepId(4096),
            taken: Some((Json::of("d"), Usage::default())),
        }],
        6 => vec![StepWrite::Begin { no: 4, intent: intent("e") }, StepWrite::Begin { no: 0, intent: intent("z") }],
        _ => vec![StepWrite::Whole { no: 5, intent: intent("f"), result: failed, took_ms: 7 }],
    }
}

/// Sometimes an error, in one of two versions.
fn odd(now: Time) -> Score {
    let verdict = if now.0 % 5 == 0 { Verdict::Error } else { Verdict::Fail };
    Score { verdict, version: format!("v{}", now.0 % 2), ..score("odd", 0.0) }
}

fn ending(n: u8, now: Time) -> Ending {
    match n {
        0 => Ending::None,
        1 => {
            let usage = Usage { tokens_in: now.0 % 3, tokens_out: 1, cost_nanos: 1 };
            Ending::Partial { scores: vec![score("exact", 0.5)], usage, latency_ms: now.0 % 9 }
        }
        2 => hand_in(Outcome::Succeeded, vec![score("exact", (now.0 % 7) as f64 / 7.0), odd(now)]),
        3 if now.0 % 2 == 0 => hand_in(Outcome::Failed, vec![score("exact", 0.25)]),
        3 => Ending::HandIn {
            outcome: Outcome::Failed,
            scores: vec![],
            usage: Usage::default(),
            latency_ms: 0,
            failure: Some(Failure::new(ErrorClass::Auth, "no")),
        },
        4 => Ending::Retry { failure: Failure::new(ErrorClass::Network, "down"), not_before: now + 600 },
        5 => Ending::Retry { failure: Failure::new(ErrorClass::RateLimited, "busy"), not_before: now },
        _ => Ending::Release,
    }
}

/// Executes one call and returns its result as text; `seen` collects the ids it returned.
async fn play(store: &dyn Store, op: &Op, seen: &mut Seen) -> String {
    let now = T0 + seen.now;
    macro_rules! some {
        ($list:ident, $n:expr) => {
            match pick(&seen.$list, $n) {
                Some(value) => value,
                None => return "nothing there".into(),
            }
        };
    }
    match op.clone() {
        Op::Wait { ms } => {
            seen.now += ms;
            String::new()
        }
        Op::Open => {
            seen.born += 1;
            seen.sessions.push(SessionId(seen.born));
            format!("{:?}", store.open_session(session(seen.born)).await)
        }
        Op::Note { session, runs } => {
            let wait = |(n, run): (usize, &usize)| {
                let (resource, hold) = (format!("r{n}"), Hold::Tokens { per_minute: 60 });
                let until = n.is_multiple_of(2).then_some(now);
                Some(Wait { run: pick(&seen.runs, *run)?, resource, items: 1, hold, until })
            };
            let waits = runs.iter().enumerate().rev().filter_map(wait).collect();
            format!("{:?}", store.note_waits(some!(sessions, session), waits).await)
        }
        Op::Beat(n) => format!("{:?}", store.beat(some!(sessions, n), LEASE_MS, now).await),
        Op::Bury(n) => format!("{:?}", store.expire_session(some!(sessions, n), now).await),
        Op::Submit { job, mode, priority, concurrency, key, budget } => {
            seen.born += 1;
            let modes = [
                Mode::Submit,
                Mode::Submit,
                Mode::FailRetry,
                Mode::Append,
                Mode::Online,
                Mode::Rollback,
                Mode::Rescore,
            ];
            let mut s = submission(seen.born, &format!("job{job}"));
            s.job = JobId(1000 + i64::from(job));
            s.mode = modes[mode as usize % modes.len()];
            s.priority = Priority::new(i64::from(priority)).unwrap();
            s.limits = RunLimits { concurrency: i64::from(concurrency), max_losses: 2, ..budgeted(budget) };
            s.rollout = rollout(key);
            s.schedule = key.is_multiple_of(5).then(|| "0 * * * *".to_owned());
            s.selection = key.is_multiple_of(11).then(|| Selection::of(s.mode));
            s.idempotency_key = (key < 40).then(|| format!("key{}", key % 4));
            s.labels.region = if key.is_multiple_of(3) { "us".into() } else { String::new() };
            s.kind = if key == 255 { "other".into() } else { "sim".into() };
            let run = s.run;
            let answer = store.submit(s, now).await;
            if answer.as_ref().is_ok_and(|answer| answer.run == run) {
                seen.runs.push(run);
            }
            format!("{answer:?}")
        }
        Op::Admit { session, places, region } => {
            let mut a = admission(1, usize::from(places));
            a.session = some!(sessions, session);
            a.quota = Quota { each: places.is_multiple_of(2).then_some(1), ..Quota::default() };
            a.scope.regions = if region { vec!["us".into(), "eu".into()] } else { Vec::new() };
            let answer = store.admit(a, now).await;
            seen.tickets.extend(answer.iter().flatten().map(|held| held.ticket));
            format!("{answer:?}")
        }
        Op::Plan { ticket, rows, done, repeat } => {
            let ticket = some!(tickets, ticket);
            let from = store.run(ticket.run).await.ok().and_then(|run| run.cursor);
            let from = if repeat && seen.now % 2 == 0 { Some(Json::of("elsewhere")) } else { from };
            let items = rows.iter().map(|row| item(*row, now)).collect();
            let page = PlanPage { ticket, from, to: Some(Json::of(&seen.now)), done, items };
            format!("{:?}", store.plan_items(page, now).await)
        }
        Op::Replan { ticket, limit, reverse, narrow } => {
            let states = vec![ItemState::Failed, ItemState::Cancelled, ItemState::Succeeded];
            let mut selection = Selection { states, reverse, ..Selection::default() };
            match narrow {
                0 => selection.errors = vec![ErrorClass::Server, ErrorClass::Lost],
                1 => selection.unjudged = Some(Vec::new()),
                2 => selection.unjudged = Some(vec!["it's".to_owned(), "odd".to_owned()]),
                3 => selection.items = (1..5).map(ItemId).collect(),
                4 => selection.wave = Some(1),
                _ => {}
            }
            let answer = store.replan_items(some!(tickets, ticket), selection, limit.into(), now);
            format!("{:?}", answer.await)
        }
        Op::Amend { run, budget } => format!("{:?}", store.amend(some!(runs, run), budgeted(budget), "bob", now).await),
        Op::Schedule { job, on } => {
            let schedule = on.then(|| Schedule { cron: "* * * * *".to_owned(), next_at: Some(now + 500) });
            format!("{:?}", store.schedule(JobId(1000 + i64::from(job)), schedule, "bob", now).await)
        }
        Op::Due => format!("{:?}", store.due_jobs(3, now).await),
        Op::Feed { run, rows } => {
            let items = rows.iter().map(|row| item(*row, now)).collect();
            format!("{:?}", store.feed_items(some!(runs, run), items, now).await)
        }
        Op::Claim { run, session, want } => {
            let claim = Claim {
                run: some!(runs, run),
                session: some!(sessions, session),
                want: want.into(),
                lease_ms: LEASE_MS,
            };
            let answer = store.claim(claim, now).await;
            seen.leases.extend(answer.iter().flatten().map(|claimed| claimed.lease));
            format!("{answer:?}")
        }
        Op::Renew { leases } => {
            let leases: Vec<Lease> = leases.iter().filter_map(|n| pick(&seen.leases, *n)).collect();
            format!("{:?}", store.renew(leases, LEASE_MS, now).await)
        }
        Op::Report { reports } => {
            // Mostly the latest leases, sometimes an old one.
            let recent = |n: usize| seen.leases.len().checked_sub(1 + n % seen.leases.len().clamp(1, 8));
            let reports: Vec<Report> = reports
                .iter()
                .filter_map(|(n, end, steps)| {
                    let lease =
                        if n.is_multiple_of(7) { pick(&seen.leases, *n) } else { recent(*n).map(|n| seen.leases[n]) }?;
                    Some(Report { lease, steps: step_writes(*steps), ending: ending(*end, now) })
                })
                .collect();
            format!("{:?}", store.report(reports.into(), now).await)
        }
        Op::Archive { ticket, limit } => {
            format!("{:?}", store.archive(some!(tickets, ticket), limit.into(), now).await)
        }
        Op::Reap { limit } => format!("{:?}", store.reap(limit.into(), now).await),
        Op::Cancel { ticket, limit } => {
            format!("{:?}", store.cancel_items(some!(tickets, ticket), limit.into(), now).await)
        }
        Op::OpenWave { ticket, skip } => {
            let ticket = some!(tickets, ticket);
            let open = store.run(ticket.run).await.map_or(0, |run| run.stage.wave);
            format!("{:?}", store.open_wave(ticket, open + 1 + i64::from(skip), now).await)
        }
        Op::Halt { ticket } => format!("{:?}", store.halt(some!(tickets, ticket), "unwell", now).await),
        Op::Approve { run, wave } => format!("{:?}", store.approve(some!(runs, run), wave.into(), "bob", now).await),
        Op::Yield { ticket } => format!("{:?}", store.yield_run(some!(tickets, ticket), now).await),
        Op::Close { ticket } => {
            let ticket = some!(tickets, ticket);
            let mut closing = closing(now);
            if now.0 % 4 == 1 {
                closing.then = follow_up(store, ticket.run, &mut seen.born).await;
            }
            let then = closing.then.as_ref().map(|then| then.run);
            let answer = store.close_run(ticket, closing, now).await;
            seen.runs.extend(then.filter(|_| answer.is_ok()));
            format!("{answer:?}")
        }
        Op::Summarize { run } => {
            let run = some!(runs, run);
            let (Ok(aggregates), Ok(recount)) = (store.aggregates(run).await, store.recount(run).await) else {
                return "deleted".into();
            };
            let summary = Summary { aggregates: Json::of(&aggregates), recount };
            let kept = store.summarize_run(run, summary, now).await;
            format!("{kept:?} {:?}", store.unsummarized_runs(3).await)
        }
        Op::Intend { run, event } => {
            let reason = event.is_multiple_of(2).then_some("because");
            format!("{:?}", store.request_transition(some!(runs, run), RunEvent::ALL[event], "bob", reason, now).await)
        }
        Op::CleanUp { limit } => {
            let retention = Retention { completed_ms: 60_000, failed_ms: 120_000 };
            let mut answers = vec![format!("{:?}", store.clean_up(retention, limit.into(), now).await)];
            // Sweeps everything, because the id may be reused here.
            while let Ok(swept @ 1..) = store.sweep_jobs(limit.into()).await {
                answers.push(swept.to_string());
            }
            answers.join(" ")
        }
        Op::Delete { job, limit } => {
            let mut answers = vec![format!("{:?}", store.delete_job(JobId(1000 + i64::from(job))).await)];
            // Sweeps everything, because the id may be reused here.
            while let Ok(swept @ 1..) = store.sweep_jobs(limit.into()).await {
                answers.push(swept.to_string());
            }
            answers.join(" ")
        }
        Op::Search { job, condition, sort, limit, scan } => {
            let condition = CONDITIONS[condition % CONDITIONS.len()];
            let sort = SORTS[sort % SORTS.len()];
            let mut query = ItemQuery {
                job: JobId(1000 + i64::from(job)),
                run: None,
                condition: (!condition.is_empty()).then(|| Condition::parse(condition).unwrap()),
                sort: (!sort.is_empty()).then(|| Sort::parse(sort).unwrap()),
                after: None,
                limit: limit.into(),
                scan: scan.into(),
            };
            let mut answers = Vec::new();
            loop {
                let page = store.search_items(query.clone()).await.unwrap();
                answers.push(format!("{page:?}"));
                let Some(next) = page.next else { break };
                // Round trip of the cursor through its text form.
                query.after = Some(next.to_string().parse().unwrap());
            }
            answers.join("\n")
        }
        Op::Forget { up_to } => format!("{:?}", store.forget_outbox(up_to).await),
        Op::Label { job, item, word } => {
            let job = JobId(1000 + i64::from(job));
            let filter = ItemFilter { job, run: None, state: None, after: None, limit: 1000 };
            let items = store.items(filter).await.unwrap();
            let ids: Vec<ItemId> = items.iter().map(|item| item.id).collect();
            let Some(item) = pick(&ids, item) else { return "nothing there".into() };
            let verdict = [Some(Verdict::Pass), Some(Verdict::Fail), None, None][usize::from(word)];
            let (name, note) = ("exact".to_owned(), (word == 3).then(|| "hm".to_owned()));
            let label = NewLabel { item, name, verdict, value: None, note, reason: String::new(), output: None };
            format!("{:?}", store.label_items(job, vec![label], "bob", now).await)
        }
    }
}

/// The whole content of the store.
async fn dump(store: &dyn Store, seen: &Seen) -> Vec<String> {
    let now = T0 + seen.now;
    let mut lines = vec![format!("{:?}", store.sessions().await), format!("{:?}", store.stats(Extent::All).await)];
    lines.push(format!("{:?}", store.stats(Extent::Workspace("w".into())).await));
    for (job, _) in store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap() {
        lines.push(format!("{job:?} {:?}", store.stats(Extent::Job(job.id)).await));
        lines.push(format!("{:?}", store.find_job(&job.workspace, &job.name).await));
        assert_eq!(job.counters, store.recount_job(job.id).await.unwrap(), "counters of a job equal a recount");
        lines.push(format!("{:?}", store.job_aggregates(job.id).await));
        lines.push(format!("{:?}", store.logs(job.id, 0, 1000).await));
        for run in store.runs(job.id).await.unwrap() {
            lines.push(format!("{run:?} {:?}", store.spec(&run.spec_hash).await));
            let recount = store.recount(run.id).await.unwrap();
            assert_eq!(run.counters, recount, "counters equal a recount at any time");
            assert_eq!(run.spent, spent_in(store, &run).await, "what is spent equals a recount at any time");
            lines.push(format!("{:?}", store.diagnose(run.id, now).await));
            lines.push(format!("{:?}", store.aggregates(run.id).await));
            lines.push(format!("{:?}", store.failed_classes(run.id).await));
            lines.push(format!("{:?}", store.results(run.id, None, 1000).await));
            lines.push(format!("{:?}", store.worst(run.id, 3).await));
            for other in &seen.runs {
                lines.push(format!("{:?}", store.compare((*other).into(), run.id.into(), 2).await));
                let whole = RunPart { whole: true, ..run.id.into() };
                lines.push(format!("{:?}", store.compare((*other).into(), whole.clone(), 2).await));
                lines.push(format!("{:?}", store.compare(whole, (*other).into(), 2).await));
            }
        }
        let filter = ItemFilter { job: job.id, run: None, state: None, after: None, limit: 1000 };
        for item in store.items(filter).await.unwrap() {
            lines.push(format!("{:?}", store.item(item.id).await));
        }
    }
    for (name, run) in ["a", "c"].into_iter().flat_map(|name| seen.runs.iter().map(move |run| (name, run))) {
        lines.push(format!("{:?}", store.shared_step(*run, intent(name).key).await));
    }
    lines.push(format!("{:?} {:?}", store.outbox(0, 10_000).await, store.outbox_reach().await));
    for patience_ms in [0, 5_000, 60_000] {
        let mut patience = HealthThresholds::default();
        Check::ALL.iter().for_each(|check| patience.set(*check, patience_ms));
        let vitals = store.health(None, patience, now).await.unwrap();
        lines.push(format!("{:?}", HealthSnapshot { slowest_commit_ms: 0, ..vitals }));
    }
    lines
}

/// Memory counts the rows; databases keep counters.
async fn job_counters(store: &dyn Store) -> Vec<(JobId, JobCounters)> {
    let jobs = store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
    jobs.into_iter().map(|(job, _)| (job.id, job.counters)).collect()
}

async fn compare(history: Vec<Op>, sql: &dyn Store) {
    let spec = MemoryStore::new();
    let (mut left, mut right) = (Seen::default(), Seen::default());
    let (mut of_spec, mut of_sql) = (Replica::default(), Replica::default());
    for (n, op) in history.iter().enumerate() {
        let expected = play(&spec, op, &mut left).await;
        let actual = play(sql, op, &mut right).await;
        assert_eq!(expected, actual, "verb {n}: {op:?}\nmemory on the left, the database on the right");
        let (expected, actual) = (job_counters(&spec).await, job_counters(sql).await);
        assert_eq!(expected, actual, "counters of jobs after verb {n}: {op:?}\na recount on the left");
        for (store, replica) in [(&spec as &dyn Store, &mut of_spec), (sql, &mut of_sql)] {
            if n % 16 == 11 {
                replica.restart();
            }
            replica.catch_up(store).await;
            if n % 8 == 7 || n + 1 == history.len() {
                replica.check(store, &format!("after verb {n}: {op:?}")).await;
            }
            if matches!(op, Op::Forget { .. }) {
                replica.forget(store).await;
            }
        }
    }
    let (expected, actual) = (dump(&spec, &left).await, dump(sql, &right).await);
    for (expected, actual) in expected.iter().zip(&actual) {
        assert_eq!(expected, actual, "rows at the end: memory on the left, the database on the right");
    }
    assert_eq!(expected.len(), actual.len());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// A useful start: sessions, a job, items, so that the random part operates on live work.
fn opening() -> Vec<Op> {
    vec![
        Op::Open,
        Op::Open,
        Op::Submit { job: 0, mode: 0, priority: 5, concurrency: 5, key: 100, budget: 30 },
        Op::Submit { job: 1, mode: 0, priority: 2, concurrency: 3, key: 101, budget: 30 },
        Op::Admit { session: 0, places: 3, region: false },
        Op::Plan { ticket: 0, rows: (0..12).collect(), done: true, repeat: false },
        Op::Plan { ticket: 1, rows: (3..9).collect(), done: true, repeat: false },
        Op::Claim { run: 0, session: 0, want: 4 },
        Op::Claim { run: 1, session: 1, want: 3 },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4_000, ..histories(256) })]

    #[test]
    fn sqlite_agrees_with_the_specification(history in prop::collection::vec(op(), 1..120)) {
        runtime().block_on(async {
            let database = databases::sqlite().await;
            compare(opening().into_iter().chain(history).collect(), &*database.store).await;
        });
    }
}

/// Tables are created once and emptied for each history, because creating them takes longer than replaying it.
fn agrees_with_the_specification(database: impl Future<Output = databases::Database>) {
    let runtime = runtime();
    let database = runtime.block_on(database);
    let config = ProptestConfig { max_shrink_iters: 400, ..histories(32) };
    let played = TestRunner::new(config).run(&prop::collection::vec(op(), 1..120), |history| {
        database.empty();
        // A new node, because a node keeps the item ids that it has taken. It sets no bookmark, however busy the machine.
        database.perform("UPDATE sequences SET last = 0 WHERE name = 'items'");
        runtime.block_on(async {
            let node = database.another().await.with_patience(Duration::MAX);
            compare(opening().into_iter().chain(history).collect(), &node).await;
        });
        Ok(())
    });
    played.unwrap();
}

#[test]
fn postgres_agrees_with_the_specification() {
    agrees_with_the_specification(databases::postgres());
}

#[test]
fn mariadb_agrees_with_the_specification() {
    agrees_with_the_specification(databases::mariadb());
}
