//! What must be true of every history.

use std::collections::BTreeMap;

use windrow_model::ItemId;
use windrow_model::record::{ItemDetail, Step};
use windrow_model::state::{ItemEvent, ItemState, JobState, Mode, Outcome, StepState};
use windrow_model::store::{ItemFilter, JobFilter, Queue, Reads};

use crate::scenario::World;

pub fn no_violations(world: &World) {
    let violations = world.ledger.violations.lock().unwrap();
    assert!(violations.is_empty(), "{violations:#?}");
}

/// For the message when something does not end.
pub async fn unfinished(world: &World) -> Vec<String> {
    let jobs = world.store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
    let open = jobs.iter().filter(|(_, run)| !run.state.is_final());
    open.map(|(job, run)| format!("{} {} {:?}", job.name, run.state, run.counters)).collect()
}

/// Every item settled exactly once in every run that took it; all numbers equal a recount.
pub async fn settled(world: &World) {
    let store = &world.store;
    let events = store.outbox(0, usize::MAX).await.unwrap();
    for (job, _) in store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap() {
        assert_eq!(job.state, JobState::Idle, "{} is still locked", job.name);
        let filter = ItemFilter { job: job.id, run: None, state: None, after: None, limit: usize::MAX };
        let items = store.items(filter).await.unwrap();
        for run in store.runs(job.id).await.unwrap() {
            assert_eq!(run.counters, store.recount(run.id).await.unwrap(), "{}: counters and recount", run.id);
            if let Some(max) = run.limits.max_failed {
                assert!(run.counters.failed <= max, "{}: {:?} under a cap of {max}", run.id, run.counters);
            }
            {
                let mut tally = world.tally.lock().unwrap();
                tally.halted += u64::from(run.stage.halted);
                tally.rolled_back += u64::from(run.mode == Mode::Rollback);
            }
            assert!(run.counters.balanced() && run.counters.unsettled() == 0, "{}: {:?}", run.id, run.counters);
            let mut archived: BTreeMap<ItemId, i64> = BTreeMap::new();
            for event in events.iter().filter(|event| event.run == run.id && event.kind == "items_archived") {
                for item in event.body.value()["items"].as_array().unwrap() {
                    *archived.entry(ItemId(item["id"].as_i64().unwrap())).or_default() += 1;
                }
            }
            let (mut taken, mut spent) = (0, 0);
            for item in &items {
                let ItemDetail { attempts, steps, .. } = store.item(item.id).await.unwrap();
                let in_run = |step: &&Step| attempts.iter().any(|a| a.id == step.id.attempt() && a.run == run.id);
                let done = steps.iter().filter(|step| step.state == StepState::Done).filter(in_run);
                spent += done.map(|step| step.usage.tokens_in).sum::<i64>();
                let own: Vec<_> = attempts.iter().filter(|attempt| attempt.run == run.id).collect();
                if own.is_empty() {
                    continue;
                }
                taken += 1;
                let settled = own.iter().filter(|a| a.outcome.is_some_and(|o| ItemEvent::of(o).is_some())).count();
                assert_eq!(settled, 1, "item {} settled {settled} times in {}", item.id, run.id);
                assert_eq!(archived.get(&item.id), Some(&1), "item {} archived once in {}", item.id, run.id);
                let open = own.iter().filter(|a| a.outcome.is_none() || a.ended_at.is_none()).count();
                assert_eq!(open, 0, "item {} has an attempt without an end", item.id);
            }
            assert_eq!(taken, run.counters.total, "{}: items and total", run.id);
            assert_eq!(spent, run.spent.tokens_in, "{}: what is spent and the steps", run.id);
            world.tally.lock().unwrap().settled += taken as u64;
        }
        for item in &items {
            assert_ne!(item.state, ItemState::Queued, "item {} is not settled", item.id);
            let last = store.item(item.id).await.unwrap().attempts.pop().unwrap();
            let expected = match last.outcome {
                Some(Outcome::Succeeded) => ItemState::Succeeded,
                Some(Outcome::Failed) => ItemState::Failed,
                Some(Outcome::Cancelled) => ItemState::Cancelled,
                Some(Outcome::Skipped) => ItemState::Skipped,
                other => panic!("item {} ended with {other:?}", item.id),
            };
            assert_eq!(item.state, expected, "the snapshot of item {} is its last attempt", item.id);
        }
    }
}
