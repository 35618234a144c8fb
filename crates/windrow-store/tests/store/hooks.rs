//! Conformance of the port for webhooks.

use windrow_model::hook::*;
use windrow_model::state::RunEvent;
use windrow_model::store::{Store, StoreError};
use windrow_model::{HookId, JobId, Json, RunId, Time};

use crate::fixture::*;

macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $( #[tokio::test] async fn $case() {
                let database = crate::databases::sqlite().await;
                super::$case(&*database.store, &*database.store).await
            } )+
        }
        mod postgres {
            $( #[tokio::test] async fn $case() {
                let database = crate::databases::postgres().await;
                super::$case(&*database.store, &*database.store).await
            } )+
        }
        mod mariadb {
            $( #[tokio::test] async fn $case() {
                let database = crate::databases::mariadb().await;
                super::$case(&*database.store, &*database.store).await
            } )+
        }
        pub(crate) async fn all(store: &windrow_store::SqlStore, before_each: &dyn Fn()) {
            $( before_each(); $case(store, store).await; )+
        }
    };
}

cases![
    a_webhook_receives_events_after_its_creation,
    an_event_becomes_one_delivery_however_often_it_is_fanned_out,
    a_webhook_has_one_delivery_in_flight_and_requeues_it_when_its_sender_dies,
    an_expired_sender_changes_nothing,
    a_failed_delivery_delays_its_webhook_and_no_other,
    a_recovered_endpoint_gets_pending_deliveries_at_once_and_in_order,
    a_gone_endpoint_is_disabled_and_restarts_when_resumed,
    a_paused_webhook_gets_later_what_it_missed,
    an_alert_is_delivered_to_its_subscribers,
    the_outbox_waits_for_a_webhook_and_a_gap_is_reported,
    a_delivery_can_be_sent_again_under_the_same_id,
    the_delivery_log_is_bounded,
    a_previous_secret_signs_until_it_expires,
    deleting_a_webhook_deletes_its_deliveries,
];

const TIMEOUT_MS: i64 = 10_000;

async fn add(hooks: &dyn HookStore, n: i64, topics: &str) -> HookId {
    let hook = NewHook {
        id: HookId(n),
        workspace: None,
        job: None,
        url: format!("http://endpoint/{n}"),
        topics: topics.parse().unwrap(),
        batch: 100,
        timeout_ms: TIMEOUT_MS,
        secret: "first".into(),
        actor: "ann".into(),
    };
    hooks.add_hook(hook, T0).await.unwrap().id
}

async fn fan_out(hooks: &dyn HookStore, now: Time) {
    while hooks.fan_out(2, now).await.unwrap() {}
}

async fn topics_of(hooks: &dyn HookStore, hook: HookId) -> Vec<String> {
    let filter = DeliveryFilter { hook: Some(hook), state: None, before: None, limit: 1000 };
    let mut all = hooks.deliveries(filter).await.unwrap();
    all.reverse();
    all.into_iter().map(|delivery| delivery.topic).collect()
}

fn tried(status: u16) -> Try {
    Try { at: T0, status: Some(status), error: None, latency_ms: 3 }
}

/// Claims all due deliveries and records this status for them.
async fn answer(hooks: &dyn HookStore, status: u16, now: Time) -> Vec<i64> {
    let claimed = hooks.claim_deliveries(100, now).await.unwrap();
    for (hook, delivery) in &claimed {
        let answer = Answer { status: Some(status), retry_after_ms: None };
        let decision = decide(answer, delivery.tries, hook.failures, 0.5, now);
        hooks.settle_delivery(delivery, tried(status), decision, now).await.unwrap();
    }
    claimed.iter().map(|(_, delivery)| delivery.id).collect()
}

async fn three_events(store: &dyn Store) {
    store.submit(submission(100, "told"), T0).await.unwrap();
    store.request_transition(RunId(100), RunEvent::Pause, "ann", None, T0).await.unwrap();
    store.request_transition(RunId(100), RunEvent::Resume, "ann", None, T0).await.unwrap();
}

async fn a_webhook_receives_events_after_its_creation(store: &dyn Store, hooks: &dyn HookStore) {
    store.submit(submission(99, "before"), T0).await.unwrap();
    let (all, some) = (add(hooks, 1, "*").await, add(hooks, 2, "run.paused").await);
    three_events(store).await;
    fan_out(hooks, T0).await;
    assert_eq!(topics_of(hooks, all).await, ["run.submitted", "run.paused", "run.pending"]);
    assert_eq!(topics_of(hooks, some).await, ["run.paused"]);
}

async fn an_event_becomes_one_delivery_however_often_it_is_fanned_out(store: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "*").await;
    three_events(store).await;
    for _ in 0..3 {
        fan_out(hooks, T0).await;
    }
    assert_eq!(topics_of(hooks, hook).await.len(), 3);
    assert!(!hooks.fan_out(100, T0).await.unwrap());
}

async fn a_webhook_has_one_delivery_in_flight_and_requeues_it_when_its_sender_dies(
    store: &dyn Store,
    hooks: &dyn HookStore,
) {
    add(hooks, 1, "*").await;
    three_events(store).await;
    fan_out(hooks, T0).await;
    let first = hooks.claim_deliveries(100, T0).await.unwrap();
    assert_eq!((first.len(), first[0].1.tries), (1, 1));
    assert!(hooks.claim_deliveries(100, T0 + TIMEOUT_MS).await.unwrap().is_empty(), "it is out");
    let later = T0 + TIMEOUT_MS + LEASE_MARGIN_MS;
    assert_eq!(hooks.next_delivery_at().await.unwrap(), Some(later));
    let again = hooks.claim_deliveries(100, later).await.unwrap();
    // Later deliveries have been due for longer, but the retry is still found.
    assert_eq!(again.len(), 1);
    let mut seen = vec![again[0].1.id];
    let accepted = hooks.settle_delivery(&again[0].1, tried(200), Decision::Delivered, later).await;
    accepted.unwrap();
    while let [id] = answer(hooks, 200, later).await[..] {
        seen.push(id);
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

async fn an_expired_sender_changes_nothing(store: &dyn Store, hooks: &dyn HookStore) {
    add(hooks, 1, "run.paused").await;
    three_events(store).await;
    fan_out(hooks, T0).await;
    let stale = hooks.claim_deliveries(1, T0).await.unwrap().remove(0).1;
    let later = T0 + TIMEOUT_MS + LEASE_MARGIN_MS;
    let fresh = hooks.claim_deliveries(1, later).await.unwrap().remove(0).1;
    assert_eq!(fresh.message_id(), stale.message_id());
    hooks.settle_delivery(&stale, tried(410), Decision::Gone, later).await.unwrap();
    assert_eq!(hooks.delivery(stale.id).await.unwrap().state, DeliveryState::Pending);
    hooks.settle_delivery(&fresh, tried(204), Decision::Delivered, later).await.unwrap();
    let settled = hooks.delivery(fresh.id).await.unwrap();
    assert_eq!((settled.state, settled.tries, settled.log.len()), (DeliveryState::Delivered, 2, 1));
}

async fn a_failed_delivery_delays_its_webhook_and_no_other(store: &dyn Store, hooks: &dyn HookStore) {
    let (dead, alive) = (add(hooks, 1, "*").await, add(hooks, 2, "*").await);
    three_events(store).await;
    fan_out(hooks, T0).await;
    let mut delivered = 0;
    for step in 0..3 {
        for (hook, delivery) in hooks.claim_deliveries(100, T0 + step).await.unwrap() {
            let status = if hook.id == dead { 500 } else { 200 };
            let decision = decide(
                Answer { status: Some(status), retry_after_ms: None },
                delivery.tries,
                hook.failures,
                0.5,
                T0 + step,
            );
            hooks.settle_delivery(&delivery, tried(status), decision, T0 + step).await.unwrap();
            delivered += usize::from(hook.id == alive);
        }
    }
    assert_eq!(delivered, 3);
    let hook = hooks.hook(dead).await.unwrap();
    assert_eq!((hook.failures, hook.rests_until), (1, T0 + 1_000));
}

async fn a_recovered_endpoint_gets_pending_deliveries_at_once_and_in_order(store: &dyn Store, hooks: &dyn HookStore) {
    add(hooks, 1, "*").await;
    three_events(store).await;
    fan_out(hooks, T0).await;
    let mut now = T0;
    for _ in 0..6 {
        answer(hooks, 503, now).await;
        now = hooks.next_delivery_at().await.unwrap().unwrap();
    }
    let mut seen = Vec::new();
    while let [id] = answer(hooks, 200, now).await[..] {
        seen.push(id);
    }
    assert_eq!(seen.len(), 3, "none waits for its own time");
    assert!(seen[1..].is_sorted());
    assert_eq!(hooks.hook(HookId(1)).await.unwrap().failures, 0);
}

async fn a_gone_endpoint_is_disabled_and_restarts_when_resumed(store: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "*").await;
    three_events(store).await;
    fan_out(hooks, T0).await;
    answer(hooks, 410, T0).await;
    let disabled = hooks.hook(hook).await.unwrap();
    assert_eq!(disabled.state, HookState::Disabled);
    assert!(disabled.reason.unwrap().contains("410"));
    assert_eq!(hooks.next_delivery_at().await.unwrap(), None);
    store.request_transition(RunId(100), RunEvent::Pause, "ann", None, T0).await.unwrap();
    hooks.change_hook(hook, HookChange::Resume, T0).await.unwrap();
    store.request_transition(RunId(100), RunEvent::Cancel, "ann", None, T0).await.unwrap();
    fan_out(hooks, T0).await;
    assert_eq!(topics_of(hooks, hook).await[3..], ["run.cancelling"], "not what happened meanwhile");
}

async fn a_paused_webhook_gets_later_what_it_missed(store: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "*").await;
    hooks.change_hook(hook, HookChange::Pause, T0).await.unwrap();
    three_events(store).await;
    fan_out(hooks, T0).await;
    assert!(hooks.claim_deliveries(100, T0).await.unwrap().is_empty());
    hooks.change_hook(hook, HookChange::Resume, T0).await.unwrap();
    assert_eq!(answer(hooks, 200, T0).await.len(), 1);
    assert_eq!(topics_of(hooks, hook).await.len(), 3);
}

async fn an_alert_is_delivered_to_its_subscribers(_: &dyn Store, hooks: &dyn HookStore) {
    let (alerts, runs) = (add(hooks, 1, "alert.*").await, add(hooks, 2, "run.*").await);
    let data = Json::of(&serde_json::json!({ "rule": "failure_rate" }));
    let announcement = Announcement { topic: "alert.raised".into(), workspace: None, data: data.clone() };
    assert_eq!(hooks.announce(announcement, T0).await.unwrap(), 1);
    assert!(topics_of(hooks, runs).await.is_empty());
    let claimed = hooks.claim_deliveries(100, T0).await.unwrap();
    assert_eq!((claimed[0].0.id, &claimed[0].1.topic[..], &claimed[0].1.data), (alerts, "alert.raised", &data));
}

async fn the_outbox_waits_for_a_webhook_and_a_gap_is_reported(store: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "run.paused").await;
    three_events(store).await;
    store.forget_outbox(3).await.unwrap();
    assert_eq!(store.outbox(0, 10).await.unwrap().len(), 3, "it has not read them");
    fan_out(hooks, T0).await;
    store.forget_outbox(2).await.unwrap();
    assert_eq!(store.outbox_reach().await.unwrap().forgotten, 2);
    hooks.delete_hook(hook).await.unwrap();

    // The unread events are deleted, as when there are more events than the outbox keeps.
    let hook = add(hooks, 2, "run.submitted").await;
    store.submit(submission(101, "another"), T0).await.unwrap();
    let reach = store.outbox_reach().await.unwrap();
    hooks.change_hook(hook, HookChange::Pause, T0).await.unwrap();
    store.forget_outbox(reach.newest).await.unwrap();
    assert_eq!(store.outbox_reach().await.unwrap().forgotten, reach.newest - 1, "a paused one is waited for too");
}

async fn a_delivery_can_be_sent_again_under_the_same_id(store: &dyn Store, hooks: &dyn HookStore) {
    add(hooks, 1, "run.paused").await;
    three_events(store).await;
    fan_out(hooks, T0).await;
    let first = hooks.claim_deliveries(1, T0).await.unwrap().remove(0).1;
    hooks.settle_delivery(&first, tried(200), Decision::Delivered, T0).await.unwrap();
    assert!(hooks.claim_deliveries(1, T0).await.unwrap().is_empty());
    hooks.redeliver(first.id, T0 + 5).await.unwrap();
    let again = hooks.claim_deliveries(1, T0 + 5).await.unwrap().remove(0).1;
    assert_eq!((again.message_id(), &again.data), (first.message_id(), &first.data));
    assert!(matches!(hooks.redeliver(999, T0).await, Err(StoreError::NotFound { what: "delivery", .. })));
}

async fn the_delivery_log_is_bounded(_: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "alert.*").await;
    for n in 0..LOGGED + 7 {
        let announcement = Announcement {
            topic: "alert.raised".into(),
            workspace: None,
            data: Json::of(&serde_json::json!({ "n": n })),
        };
        hooks.announce(announcement, T0).await.unwrap();
        assert_eq!(answer(hooks, 200, T0).await.len(), 1);
    }
    assert_eq!(hooks.sweep_deliveries().await.unwrap(), 7);
    assert_eq!(hooks.sweep_deliveries().await.unwrap(), 0);
    let filter = DeliveryFilter { hook: Some(hook), state: None, before: None, limit: 2 * LOGGED };
    let kept = hooks.deliveries(filter).await.unwrap();
    assert_eq!((kept.len(), kept[LOGGED - 1].id), (LOGGED, 8), "the newest are kept");
}

async fn a_previous_secret_signs_until_it_expires(_: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "*").await;
    let change = HookChange::Rotate { secret: "second".into(), former_until: T0 + 100 };
    let rotated = hooks.change_hook(hook, change, T0).await.unwrap();
    assert_eq!(rotated.secrets(T0 + 99), ["second", "first"]);
    assert_eq!(rotated.secrets(T0 + 100), ["second"]);
}

async fn deleting_a_webhook_deletes_its_deliveries(store: &dyn Store, hooks: &dyn HookStore) {
    let hook = add(hooks, 1, "*").await;
    three_events(store).await;
    fan_out(hooks, T0).await;
    hooks.delete_hook(hook).await.unwrap();
    assert!(matches!(hooks.hook(hook).await, Err(StoreError::NotFound { what: "webhook", .. })));
    assert_eq!(hooks.next_delivery_at().await.unwrap(), None);
    let filter = DeliveryFilter { hook: None, state: None, before: None, limit: 10 };
    assert!(hooks.deliveries(filter).await.unwrap().is_empty());
    assert_eq!(store.job(JobId(100)).await.unwrap().name, "told");
}
