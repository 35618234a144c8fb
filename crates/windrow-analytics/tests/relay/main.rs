//! The copy in ClickHouse equals the database, row by row, whatever happened before (E3, T14). The ClickHouse of
//! `scripts/services` is needed.

mod clickhouse;
#[path = "../../../windrow-store/tests/store/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod kills;
mod questions;
#[path = "../../../windrow-store/tests/store/services.rs"]
mod services;
mod trends;
mod world;

use windrow_analytics::relay::{Trouble, Turn};
use windrow_analytics::{Relay, schema};
use windrow_model::analytics::AnalyticsStore;
use windrow_model::label::NewLabel;
use windrow_model::state::{Mode, Outcome};
use windrow_model::step::Verdict;
use windrow_model::store::*;
use windrow_model::{ItemId, RunId, SessionId};

use fixture::*;
use world::{Accepted, World};

async fn count(world: &World, condition: &str) -> i64 {
    let sql = format!("SELECT count() FROM windrow_items FINAL WHERE {condition}");
    world.client.perform(&sql).await.unwrap().trim().parse().unwrap()
}

fn label(item: ItemId, name: &str) -> NewLabel {
    let (verdict, value) = (Some(Verdict::Fail), Some(0.1));
    NewLabel { item, name: name.into(), verdict, value, note: None, reason: "no 'way'".into(), output: None }
}

/// E1, E3, E14, E15, E27.
#[tokio::test(flavor = "multi_thread")]
async fn the_copy_equals_the_database_after_every_step() {
    every_step(World::new()).await;
}

/// X1: the same with a shared database.
#[tokio::test(flavor = "multi_thread")]
async fn the_copy_equals_a_shared_database_after_every_step() {
    every_step(World::on_postgres().await).await;
}

async fn every_step(world: World) {
    let store = &*world.store;
    let mut relay = world.relay();
    // What was there before the first relay is sent, too.
    let ticket = planned(store, "a", (0..30).map(new_item).collect()).await;
    world.catch_up(&mut relay).await;
    assert_eq!(count(&world, "outcome = 'queued' AND input = ''").await, 30);
    world.assert_equal().await;
    assert_eq!(schema::columns(&world.client, windrow_model::JobId(100)).await.unwrap().unwrap(), ["exact"]);

    let good = world.work(ticket, 12, Outcome::Succeeded).await;
    world.work(ticket, 5, Outcome::Failed).await;
    world.catch_up(&mut relay).await;
    world.assert_equal().await;
    assert_eq!(count(&world, "outcome = 'queued'").await, 13);
    assert_eq!(count(&world, "score_1 < 0.2 AND verdict_1 = 'fail'").await, 5, "every third of the first 17");
    let columns = schema::columns(&world.client, windrow_model::JobId(100)).await.unwrap().unwrap();
    assert_eq!(columns, ["exact", "kind"]);

    // A claim has no event.
    let claimed = claim(store, ticket.run, 4, T0).await;
    let mut again = Relay::new(world.parts(1));
    world.catch_up(&mut again).await;
    assert_eq!(count(&world, "outcome = 'running'").await, 4);
    for claimed in claimed {
        report(store, claimed.lease, Vec::new(), Ending::Release, T0).await.accepted();
    }
    world.catch_up(&mut Relay::new(world.parts(1))).await;
    assert_eq!(count(&world, "outcome = 'running'").await, 0);

    let mut relay = Relay::new(world.parts(1));
    world.work(ticket, 100, Outcome::Succeeded).await;
    store.close_run(ticket, Closing::default(), T0 + 2_000).await.unwrap();
    store
        .label_items(ticket_job(), vec![label(good[0], "exact"), label(good[1], "note-ish")], "ann", T0)
        .await
        .unwrap();
    world.catch_up(&mut relay).await;
    world.assert_equal().await;
    assert_eq!(count(&world, "has(labels.author, 'ann')").await, 2);

    retry_and_append(&world, &mut relay).await;

    store.delete_job(ticket_job()).await.unwrap();
    world.catch_up(&mut relay).await;
    world.assert_equal().await;
    for (table, _) in schema::KEYS {
        let left = world.client.perform(&format!("SELECT count() FROM {table} FINAL")).await.unwrap();
        assert_eq!(left.trim(), "0", "{table}");
    }
}

fn ticket_job() -> windrow_model::JobId {
    windrow_model::JobId(100)
}

async fn retry_and_append(world: &World, relay: &mut Relay) {
    let store = &*world.store;
    let retry = Submission { mode: Mode::FailRetry, run: RunId(101), ..submission(100, "a") };
    let ticket = started(store, retry).await;
    store.replan_items(ticket, Selection::of(Mode::FailRetry), 100, T0).await.unwrap();
    world.catch_up(relay).await;
    world.assert_equal().await;
    let (queued, results) =
        (count(world, "outcome = 'queued' AND run = 2").await, "SELECT count() FROM windrow_results FINAL");
    assert_eq!(queued, 5);
    world.work(ticket, 100, Outcome::Succeeded).await;
    store.close_run(ticket, Closing::default(), T0 + 3_000).await.unwrap();
    world.catch_up(relay).await;
    world.assert_equal().await;
    // The failed results of the first run are kept beside those of the retry.
    assert_eq!(world.client.perform(results).await.unwrap().trim(), "35");
    let append = Submission { mode: Mode::Append, run: RunId(102), ..submission(100, "a") };
    let ticket = started(store, append).await;
    store.plan_items(page(ticket, (25..40).map(new_item).collect()), T0).await.unwrap();
    world.work(ticket, 100, Outcome::Succeeded).await;
    store.close_run(ticket, Closing::default(), T0 + 4_000).await.unwrap();
    world.catch_up(relay).await;
    world.assert_equal().await;
    assert_eq!(count(world, "run = 3").await, 10);
    // A rescore: previous scores are shown until there are new ones.
    let rescore = Submission { mode: Mode::Rescore, run: RunId(103), ..submission(100, "a") };
    let ticket = started(store, rescore).await;
    store.replan_items(ticket, Selection::of(Mode::Rescore), 100, T0).await.unwrap();
    world.catch_up(relay).await;
    world.assert_equal().await;
    world.work(ticket, 7, Outcome::Succeeded).await;
    world.catch_up(relay).await;
    world.assert_equal().await;
    world.work(ticket, 100, Outcome::Succeeded).await;
    store.close_run(ticket, Closing::default(), T0 + 5_000).await.unwrap();
    world.catch_up(relay).await;
    world.assert_equal().await;
    assert_eq!(count(world, "run = 4").await, 40);
}

/// E14: items are shown as queued while more of them are planned, and rows that come twice stay equal.
#[tokio::test(flavor = "multi_thread")]
async fn items_are_shown_before_all_are_planned() {
    let world = World::new();
    let store = &*world.store;
    let _ = store.open_session(session(1)).await;
    let mut relay = world.relay();
    world.catch_up(&mut relay).await;
    let ticket = started(store, submission(100, "a")).await;
    let mut from = None;
    for (pages, rows) in [(1, 0..12), (2, 8..30), (3, 30..31)] {
        let to = Some(windrow_model::Json::of(&rows.end));
        let items = rows.map(new_item).collect();
        let page = PlanPage { from, to: to.clone(), done: pages == 3, ..page(ticket, items) };
        from = to;
        store.plan_items(page, T0).await.unwrap();
        // What is queued already may be executed.
        let done = world.work(ticket, 3, Outcome::Succeeded).await.len() as i64;
        world.catch_up(&mut relay).await;
        let total = store.run(ticket.run).await.unwrap().counters.total;
        let (all, rest) = (count(&world, "1").await, count(&world, "outcome = 'queued'").await);
        assert_eq!((all, rest, done), (total, total - 3 * pages, 3));
    }
    world.assert_equal().await;
    let status = store.relay_status().await.unwrap().unwrap();
    assert!(status.is_caught_up());
}

/// T14: the outbox is not kept for the relay.
#[tokio::test(flavor = "multi_thread")]
async fn events_deleted_unread_are_made_up_for() {
    let world = World::new();
    let store = &*world.store;
    let ticket = planned(store, "a", (0..20).map(new_item).collect()).await;
    let other = planned_as(store, submission(200, "b"), (0..3).map(new_item).collect()).await;
    let mut relay = world.relay();
    world.catch_up(&mut relay).await;
    world.work(ticket, 20, Outcome::Succeeded).await;
    let newest = store.outbox_reach().await.unwrap().newest;
    store.forget_outbox(newest).await.unwrap();
    let status = store.relay_status().await.unwrap().unwrap();
    assert_eq!((status.jobs, status.is_caught_up()), (1, false), "only the job that has changed");
    world.work(other, 3, Outcome::Succeeded).await;
    world.catch_up(&mut relay).await;
    world.assert_equal().await;
    assert_eq!(count(&world, "outcome IN ('pass', 'fail')").await, 23);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_relays_and_another_takes_over() {
    let world = World::new();
    planned(&*world.store, "a", vec![new_item(1)]).await;
    let (mut first, mut second) = (world.relay(), Relay::new(world.parts(2)));
    world.catch_up(&mut first).await;
    assert_eq!(second.turn().await.unwrap(), Turn::Elsewhere);
    first.leave().await.unwrap();
    assert_ne!(second.turn().await.unwrap(), Turn::Elsewhere);
    // Who was replaced keeps nothing of what it sent.
    let sent = windrow_model::analytics::Sent { event: Some((i64::MAX, T0)), ..Default::default() };
    assert!(!world.store.keep_sent(SessionId(1), sent).await.unwrap());
    assert_eq!(world.store.next_revision(SessionId(1), 0).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_clickhouse_is_filled_again() {
    let world = World::new();
    let ticket = planned(&*world.store, "a", (0..5).map(new_item).collect()).await;
    world.work(ticket, 5, Outcome::Succeeded).await;
    let mut relay = world.relay();
    world.catch_up(&mut relay).await;
    world.client.perform(&format!("DROP DATABASE {}", world.client.address().database)).await.unwrap();
    // It notices when it sends something, or when it starts.
    world.catch_up(&mut world.relay()).await;
    world.assert_equal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_of_another_database_is_left_alone() {
    let (first, second) = (World::new(), World::new());
    planned(&*first.store, "a", vec![new_item(1)]).await;
    first.catch_up(&mut first.relay()).await;
    let mut stranger = Relay::new(windrow_analytics::Parts { client: first.client.clone(), ..second.parts(1) });
    assert!(matches!(stranger.turn().await, Err(Trouble::Taken(_))));
    let status = second.store.relay_status().await.unwrap().unwrap();
    assert!(status.relay.trouble.unwrap().0.contains("another Windrow database"));
    first.assert_equal().await;
}

/// E3: rows of a job that the database does not know are found in every table, and disappear.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_only_clickhouse_has_is_found_and_removed() {
    let world = World::new();
    planned(&*world.store, "a", vec![new_item(1)]).await;
    let mut relay = world.relay();
    world.catch_up(&mut relay).await;
    for sql in [
        "INSERT INTO windrow_items (workspace, job_id, item_id, job, revision) VALUES ('gone', 901, 1, 'old', 1)",
        "INSERT INTO windrow_steps (workspace, job_id, item_id, step_id, revision) VALUES ('gone', 902, 1, 1, 1)",
    ] {
        world.client.perform(sql).await.unwrap();
    }
    let found = windrow_analytics::check::superfluous(&*world.store, &world.client).await.unwrap();
    let (old, nameless) = ((windrow_model::JobId(901), "old".to_owned()), (windrow_model::JobId(902), String::new()));
    assert_eq!(found, std::collections::BTreeMap::from([old, nameless]));
    for job in found.into_keys() {
        world.store.mark_jobs(Some(job)).await.unwrap();
    }
    world.catch_up(&mut relay).await;
    world.assert_equal().await;
    assert_eq!(count(&world, "1").await, 1);
}

/// A copy of an earlier version lacks columns: all of it is sent again, also if the relay stops in between.
#[tokio::test(flavor = "multi_thread")]
async fn an_outdated_copy_is_migrated_and_sent_again() {
    let world = World::new();
    let ticket = planned(&*world.store, "a", (0..5).map(new_item).collect()).await;
    world.work(ticket, 5, Outcome::Succeeded).await;
    world.store.close_run(ticket, Closing::default(), T0 + 2_000).await.unwrap();
    let mut relay = world.relay();
    world.catch_up(&mut relay).await;
    relay.leave().await.unwrap();
    for table in ["windrow_items", "windrow_results"] {
        let dropped = "DROP COLUMN numbers, DROP COLUMN flags, DROP COLUMN nulls, DROP COLUMN `labels.text`";
        world.client.perform(&format!("ALTER TABLE {table} {dropped}")).await.unwrap();
    }
    world.client.perform("ALTER TABLE windrow_migrations DELETE WHERE version > 1").await.unwrap();
    let mut next = Relay::new(world.parts(2));
    assert_ne!(next.turn().await.unwrap(), Turn::Elsewhere);
    world.catch_up(&mut next).await;
    world.assert_equal().await;
}

/// Rows that the database does not have disappear when their job is sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_removes_what_does_not_belong() {
    let world = World::new();
    let ticket = planned(&*world.store, "a", (0..5).map(new_item).collect()).await;
    world.work(ticket, 3, Outcome::Succeeded).await;
    let mut relay = world.relay();
    world.catch_up(&mut relay).await;
    let sql =
        "INSERT INTO windrow_items (workspace, job_id, item_id, outcome, revision) VALUES ('w', 100, 77, 'pass', 1)";
    world.client.perform(sql).await.unwrap();
    let job = windrow_analytics::check::job(&*world.store, &world.client, ticket_job(), |_| Vec::new()).await.unwrap();
    assert!(!job.unwrap().is_equal());
    world.store.mark_jobs(Some(ticket_job())).await.unwrap();
    world.catch_up(&mut relay).await;
    world.assert_equal().await;
}
