//! Conformance of the port for the relay to analytics.

use windrow_model::analytics::{AnalyticsStore, Mark, Sent};
use windrow_model::label::NewLabel;
use windrow_model::store::Queue;
use windrow_model::{ItemId, JobId, SessionId, Time};
use windrow_store::SqlStore;

use crate::fixture::*;

crate::cases_of_databases![
    nothing_is_marked_before_the_first_relay,
    one_owner_relays_until_its_lease_expires,
    numbers_of_rows_only_grow,
    a_mark_that_was_renewed_is_not_removed,
    labels_deletions_and_forgotten_events_are_marked,
    rows_fed_into_an_online_run_are_marked,
    running_items_are_found_across_runs,
];

const ONE: SessionId = SessionId(1);
const TWO: SessionId = SessionId(2);

async fn lead(store: &SqlStore, owner: SessionId, now: Time) -> bool {
    store.lead_relay(owner, "copy".into(), LEASE_MS, now).await.unwrap().is_some()
}

async fn marked(store: &SqlStore) -> Vec<(JobId, Option<ItemId>)> {
    store.marks(100).await.unwrap().iter().map(|mark| (mark.job, mark.item)).collect()
}

/// All marks as they are now.
async fn settle(store: &SqlStore) {
    let done = store.marks(100).await.unwrap();
    assert!(store.keep_sent(ONE, Sent { done, ..Sent::default() }).await.unwrap());
}

fn note(item: ItemId, text: &str) -> NewLabel {
    let note = Some(text.to_owned());
    NewLabel { item, name: "note".into(), verdict: None, value: None, note, reason: String::new(), output: None }
}

async fn nothing_is_marked_before_the_first_relay(store: &SqlStore) {
    planned(store, "a", vec![new_item(1)]).await;
    assert_eq!(store.relay_status().await.unwrap(), None);
    assert_eq!(store.mark_jobs(None).await.unwrap(), 0);
    assert!(lead(store, ONE, T0).await);
    assert_eq!(marked(store).await, [(JobId(100), None)], "what was there before is sent as a whole");
    let status = store.relay_status().await.unwrap().unwrap();
    assert_eq!((status.lag(), status.jobs, status.is_caught_up()), (0, 1, false));
    assert_eq!(status.relay.incarnation, "copy");
}

async fn one_owner_relays_until_its_lease_expires(store: &SqlStore) {
    assert!(lead(store, ONE, T0).await && lead(store, ONE, T0 + 1).await);
    assert!(!lead(store, TWO, T0 + LEASE_MS).await);
    assert!(lead(store, TWO, T0 + 1 + LEASE_MS).await);
    let sent = Sent { event: Some((1_000_000, T0)), ..Sent::default() };
    assert!(!store.keep_sent(ONE, sent).await.unwrap());
    assert_eq!(store.next_revision(ONE, 0).await.unwrap(), None);
    store.note_trouble(ONE, Some("stale".into()), T0).await.unwrap();
    store.leave_relay(ONE).await.unwrap();
    let relay = store.relay_status().await.unwrap().unwrap().relay;
    assert_eq!((relay.owner, relay.event, relay.trouble), (Some(TWO), 0, None));
    store.leave_relay(TWO).await.unwrap();
    assert!(lead(store, ONE, T0).await, "at once");
    assert!(!lead(store, TWO, T0).await);
    store.open_session(session(ONE.0)).await.unwrap();
    store.expire_session(ONE, T0).await.unwrap();
    assert!(lead(store, TWO, T0).await, "its process has ended");
}

async fn numbers_of_rows_only_grow(store: &SqlStore) {
    assert!(lead(store, ONE, T0).await);
    let next = async |above| store.next_revision(ONE, above).await.unwrap().unwrap();
    let given = [next(0).await, next(0).await, next(40).await, next(0).await];
    assert!(given.is_sorted_by(|a, b| a < b) && given[2] > 40, "{given:?}");
    store.note_trouble(ONE, Some("away".into()), T0 + 5).await.unwrap();
    let relay = store.relay_status().await.unwrap().unwrap().relay;
    assert_eq!((relay.revision, relay.trouble), (given[3], Some(("away".into(), T0 + 5))));
    store.note_trouble(ONE, None, T0 + 6).await.unwrap();
    assert_eq!(store.relay_status().await.unwrap().unwrap().relay.trouble, None);
}

async fn a_mark_that_was_renewed_is_not_removed(store: &SqlStore) {
    planned(store, "a", vec![new_item(1)]).await;
    assert!(lead(store, ONE, T0).await);
    let read = store.marks(10).await.unwrap();
    let moved = Mark { sent_to: ItemId(7), since: 3, ..read[0] };
    assert!(store.keep_sent(ONE, Sent { moved: vec![moved], ..Sent::default() }).await.unwrap());
    let now = store.marks(10).await.unwrap();
    assert_eq!((now[0].sent_to, now[0].since), (ItemId(7), 3));
    assert_eq!(store.mark_jobs(Some(JobId(100))).await.unwrap(), 1);
    assert!(store.keep_sent(ONE, Sent { done: read, ..Sent::default() }).await.unwrap());
    let again = store.marks(10).await.unwrap();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].sent_to, again[0].since), (ItemId(0), 0), "from its beginning");
    settle(store).await;
    assert_eq!(marked(store).await, []);
}

async fn labels_deletions_and_forgotten_events_are_marked(store: &SqlStore) {
    assert!(lead(store, ONE, T0).await);
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    let items: Vec<ItemId> = claim(store, ticket.run, 2, T0).await.iter().map(|c| c.lease.attempt.item()).collect();
    assert_eq!(marked(store).await, [], "events tell of all of this");
    let labels = vec![note(items[0], "a"), note(items[0], "b"), note(items[1], "c")];
    store.label_items(JobId(100), labels, "ann", T0).await.unwrap();
    assert_eq!(marked(store).await, [(JobId(100), Some(items[0])), (JobId(100), Some(items[1]))]);
    settle(store).await;

    let newest = store.outbox_reach().await.unwrap().newest;
    let sent = Sent { event: Some((newest, T0)), ..Sent::default() };
    assert!(store.keep_sent(ONE, sent).await.unwrap());
    store.forget_outbox(newest).await.unwrap();
    assert_eq!(marked(store).await, [], "they had been sent");
    planned_as(store, submission(200, "b"), vec![new_item(1)]).await;
    store.forget_outbox(store.outbox_reach().await.unwrap().newest).await.unwrap();
    assert_eq!(marked(store).await, [(JobId(200), None)]);
    settle(store).await;

    store
        .request_transition(windrow_model::RunId(200), windrow_model::state::RunEvent::Cancel, "ann", None, T0)
        .await
        .unwrap();
    let ticket = planned_as(store, submission(300, "c"), vec![]).await;
    store.close_run(ticket, windrow_model::store::Closing::default(), T0).await.unwrap();
    store.delete_job(JobId(300)).await.unwrap();
    assert_eq!(marked(store).await, [(JobId(300), None)]);
}

async fn rows_fed_into_an_online_run_are_marked(store: &SqlStore) {
    assert!(lead(store, ONE, T0).await);
    store.open_session(session(1)).await.unwrap();
    let online = windrow_model::store::Submission { mode: windrow_model::state::Mode::Online, ..submission(1, "a") };
    store.submit(online, T0).await.unwrap();
    store.feed_items(windrow_model::RunId(1), vec![new_item(1), new_item(2)], T0).await.unwrap();
    assert_eq!(marked(store).await.len(), 2);
    settle(store).await;
    store.feed_items(windrow_model::RunId(1), vec![new_item(2), new_item(3)], T0).await.unwrap();
    assert_eq!(marked(store).await.len(), 1, "the same row again is not new");
}

async fn running_items_are_found_across_runs(store: &SqlStore) {
    let one = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    let two = planned_as(store, submission(200, "b"), vec![new_item(1)]).await;
    assert_eq!(store.running_items(10).await.unwrap(), []);
    let lease = claim(store, one.run, 1, T0).await[0].lease;
    claim(store, two.run, 1, T0).await;
    let jobs: Vec<JobId> = store.running_items(10).await.unwrap().iter().map(|(job, _)| *job).collect();
    assert_eq!(jobs, [JobId(100), JobId(200)]);
    let _ = succeed(store, lease, T0).await;
    assert_eq!(store.running_items(10).await.unwrap().len(), 1, "what is handed in runs no more");
    assert_eq!(store.running_items(0).await.unwrap(), []);
}
