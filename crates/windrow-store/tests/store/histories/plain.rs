//! Counters, aggregates and status of a job, computed from all its rows in the plainest way.

use std::collections::BTreeMap;

use windrow_model::aggregate::{Aggregates, BINS, ScoreSummary};
use windrow_model::counters::{Counters, JobCounters};
use windrow_model::record::{Attempt, ItemDetail, Run};
use windrow_model::state::{AttemptState, ItemState, Mode, Outcome, RunState};
use windrow_model::step::{Score, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::view::{RunView, job_status};
use windrow_model::{ErrorClass, JobId, RunId};

pub async fn compare(store: &dyn Store, id: JobId, when: &str) {
    let job = store.job(id).await.unwrap();
    let runs = store.runs(id).await.unwrap();
    let filter = ItemFilter { job: id, run: None, state: None, after: None, limit: 10_000 };
    let ids = store.items(filter).await.unwrap().iter().map(|item| item.id).collect();
    let items = store.details(ids).await.unwrap();
    let modes: BTreeMap<RunId, Mode> = runs.iter().map(|run| (run.id, run.mode)).collect();
    assert_eq!(job.counters, counters_of_job(&items, &modes), "counters of the job {when}");
    let latest = runs.last().expect("a run");
    assert_eq!(
        job_status(&job.kind, &RunView::of_job(&job, latest)),
        status(&job.kind, latest, &items, &modes),
        "{when}"
    );
    let current = items.iter().filter(|detail| detail.item.archived.is_some()).map(current);
    same(&store.job_aggregates(id).await.unwrap(), &aggregates(current), &format!("of the job {when}"));
    for run in &runs {
        assert_eq!(run.counters, counters_of_run(&items, run.id), "counters of run {} {when}", run.no);
        assert_eq!(run.counters, store.recount(run.id).await.unwrap(), "recount of run {} {when}", run.no);
        let results = store.results(run.id, None, 10_000).await.unwrap();
        let own = results.into_iter().filter(|result| result.outcome != Outcome::Cancelled).map(|result| OneResult {
            succeeded: result.outcome == Outcome::Succeeded,
            failed: (result.outcome == Outcome::Failed).then_some(result.error).flatten().map(|(class, _)| class),
            usage: result.usage,
            scores: result.scores,
        });
        same(&store.aggregates(run.id).await.unwrap(), &aggregates(own), &format!("of run {} {when}", run.no));
    }
}

fn counters_of_job(items: &[ItemDetail], modes: &BTreeMap<RunId, Mode>) -> JobCounters {
    let mut counters = JobCounters::default();
    for detail in items {
        let item = &detail.item;
        let mut one = Counters { total: 1, ..Counters::default() };
        match (item.state, item.attempt_state) {
            (ItemState::Queued, AttemptState::Running | AttemptState::Logged) => one.running = 1,
            (ItemState::Queued, _) => one.queued = 1,
            (ItemState::Succeeded, _) => one.succeeded = 1,
            (ItemState::Failed, _) => one.failed = 1,
            (ItemState::Cancelled, _) => one.cancelled = 1,
            (ItemState::Skipped, _) => one.skipped = 1,
        }
        counters.add(modes[&item.run], one);
        counters.all.retries += detail.attempts.iter().filter(|attempt| is_followed(attempt)).count() as i64;
    }
    counters
}

fn counters_of_run(items: &[ItemDetail], run: RunId) -> Counters {
    let mut counters = Counters::default();
    for attempt in items.iter().flat_map(|detail| &detail.attempts).filter(|attempt| attempt.run == run) {
        if is_followed(attempt) {
            counters.retries += 1;
            continue;
        }
        // An item has one attempt in a run that no other follows.
        counters.total += 1;
        match (attempt.state, attempt.outcome) {
            (AttemptState::Queued | AttemptState::Blocked, _) => counters.queued += 1,
            (AttemptState::Running | AttemptState::Logged, _) => counters.running += 1,
            (AttemptState::Resulted, Some(Outcome::Succeeded)) => counters.succeeded += 1,
            (AttemptState::Resulted, Some(Outcome::Failed)) => counters.failed += 1,
            (AttemptState::Resulted, Some(Outcome::Cancelled)) => counters.cancelled += 1,
            (AttemptState::Resulted, Some(Outcome::Skipped)) => counters.skipped += 1,
            (AttemptState::Resulted, other) => panic!("an attempt is over with {other:?}"),
        }
    }
    counters
}

fn is_followed(attempt: &Attempt) -> bool {
    attempt.state == AttemptState::Resulted && matches!(attempt.outcome, Some(Outcome::Retried | Outcome::Lost))
}

/// The public status of a job whose latest run is over, in terms of its items. While a run is active, its state decides,
/// which the tests of `view/` show.
fn status(kind: &str, latest: &Run, items: &[ItemDetail], modes: &BTreeMap<RunId, Mode>) -> &'static str {
    let back = |detail: &&ItemDetail| modes[&detail.item.run] == Mode::Rollback;
    let count = |state: ItemState| items.iter().filter(|detail| detail.item.state == state).count();
    let forward = |state: ItemState| items.iter().filter(|detail| !back(detail) && detail.item.state == state).count();
    let all_failed = count(ItemState::Failed) > 0 && count(ItemState::Succeeded) == 0;
    let ended = match latest.state {
        RunState::Completed => "completed",
        RunState::Failed => "failed",
        RunState::Cancelled | RunState::Terminated => "cancelled",
        RunState::SystemTerminated => "system",
        _ => return job_status(kind, &RunView { counters: counters_of_job(items, modes), ..RunView::of(latest) }),
    };
    match (kind, ended) {
        ("experiment", "completed") if all_failed => "failed",
        ("experiment", "completed") => "success",
        ("experiment", "failed") => "failed",
        ("experiment", "cancelled") => "terminated",
        ("experiment", _) => "system_terminated",
        ("task", "completed") if all_failed => "failed",
        ("task", "completed") => "completed",
        ("task", "failed") => "failed",
        ("task", _) => "cancelled",
        ("ingest", "completed" | "failed") if all_failed => "FAILED",
        ("ingest", "failed") if !latest.planned && items.is_empty() => "FAILED",
        ("ingest", "failed") if !latest.planned => "PARTIAL",
        ("ingest", _) => "COMPLETED",
        ("operation", _) => {
            let rolled_back: Vec<&ItemDetail> = items.iter().filter(back).collect();
            let is_bad = |detail: &&ItemDetail| matches!(detail.item.state, ItemState::Failed | ItemState::Cancelled);
            let unsettled = |detail: &&ItemDetail| detail.item.state == ItemState::Queued;
            assert!(!items.iter().any(|detail| unsettled(&detail)), "a run that is over leaves nothing queued");
            let all_back = !rolled_back.is_empty() && rolled_back.len() == items.len();
            let (done, failed) =
                (forward(ItemState::Succeeded) + forward(ItemState::Skipped), forward(ItemState::Failed));
            let of_tasks = if rolled_back.iter().any(is_bad) {
                "rollback_fail"
            } else if all_back {
                "rollback_success"
            } else if failed + forward(ItemState::Cancelled) == 0 {
                "success"
            } else if done > 0 {
                "partial_fail"
            } else if failed > 0 {
                "fail"
            } else {
                "cancel"
            };
            match (latest.mode, ended) {
                (_, "completed") => of_tasks,
                (Mode::Rollback, "failed") => "rollback_fail",
                (Mode::Rollback, _) if of_tasks == "rollback_success" => of_tasks,
                (Mode::Rollback, _) => "rollback_fail",
                (_, "failed") if forward(ItemState::Succeeded) > 0 => "partial_fail",
                (_, "failed") => "fail",
                (..) => "cancel",
            }
        }
        other => panic!("{other:?}"),
    }
}

/// One archived result.
struct OneResult {
    succeeded: bool,
    failed: Option<ErrorClass>,
    usage: Usage,
    scores: Vec<Score>,
}

fn current(detail: &ItemDetail) -> OneResult {
    let class = detail.item.error.as_ref().map(|(class, _)| *class);
    OneResult {
        succeeded: detail.item.state == ItemState::Succeeded,
        failed: class.filter(|_| detail.item.state == ItemState::Failed),
        usage: detail.item.usage,
        scores: detail.scores.clone(),
    }
}

#[derive(Default)]
struct Plain {
    evaluators: BTreeMap<String, Vec<Score>>,
    usage: Usage,
    succeeded: usize,
    errors: BTreeMap<String, i64>,
}

fn aggregates(results: impl Iterator<Item = OneResult>) -> Plain {
    let mut plain = Plain::default();
    for result in results {
        plain.usage += result.usage;
        plain.succeeded += usize::from(result.succeeded);
        if let Some(class) = result.failed {
            *plain.errors.entry(class.to_string()).or_default() += 1;
        }
        for score in result.scores {
            plain.evaluators.entry(score.name.clone()).or_default().push(score);
        }
    }
    plain
}

fn same(said: &Aggregates, plain: &Plain, of: &str) {
    assert_eq!(said.usage, plain.usage, "usage {of}");
    assert_eq!(said.errors, plain.errors, "errors {of}");
    assert_eq!(said.latency.is_some(), plain.succeeded > 0, "latency {of}");
    let names: Vec<&String> = plain.evaluators.keys().collect();
    assert_eq!(said.evaluators.keys().collect::<Vec<_>>(), names, "evaluators {of}");
    for (name, scores) in &plain.evaluators {
        same_summary(&said.evaluators[name], scores, &format!("{name} {of}"));
    }
}

fn same_summary(said: &ScoreSummary, scores: &[Score], of: &str) {
    let count = |verdict: Verdict| scores.iter().filter(|score| score.verdict == verdict).count() as i64;
    let counts = [Verdict::Pass, Verdict::Fail, Verdict::Error, Verdict::Skipped].map(count);
    assert_eq!((said.n, [said.pass, said.fail, said.error, said.skipped]), (scores.len() as i64, counts), "{of}");
    let counted = scores.iter().filter(|score| matches!(score.verdict, Verdict::Pass | Verdict::Fail));
    let values: Vec<f64> = counted.filter_map(|score| score.value).collect();
    let mut distribution = [0; BINS];
    values.iter().for_each(|value| distribution[ScoreSummary::bin(*value)] += 1);
    assert_eq!(said.distribution, distribution, "{of}");
    let (min, max) = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
    assert_eq!((said.min, said.max), (min, max), "{of}");
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let near = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() < 1e-9);
    assert!(near(said.mean, mean), "mean {of}: {:?}, should be {mean:?}", said.mean);
    let judged = counts[0] + counts[1];
    let rate = (judged > 0).then(|| counts[0] as f64 / judged as f64);
    assert!(near(said.pass_rate, rate), "pass rate {of}: {:?}, should be {rate:?}", said.pass_rate);
}
