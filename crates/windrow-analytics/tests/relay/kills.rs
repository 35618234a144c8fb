//! ClickHouse and the relay are killed again and again while work goes on. `WINDROW_ANALYTICS_KILLS` says how often.

use std::sync::Arc;
use std::time::Duration;

use windrow_analytics::Relay;
use windrow_model::state::Outcome;
use windrow_model::store::*;

use crate::clickhouse::Server;
use crate::fixture::*;
use crate::world::World;

const ITEMS: u64 = 600;

fn kills() -> u64 {
    std::env::var("WINDROW_ANALYTICS_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

/// E3, T14.
#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_the_copy_becomes_equal_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let world = Arc::new(World::with(&format!("{}/copy", server.url()), tempfile::tempdir().unwrap()));
    let ticket = planned(&*world.store, "a", (0..ITEMS).map(new_item).collect()).await;
    let (begun, mut allowed) = tokio::sync::watch::channel(0);
    let working = tokio::spawn({
        let world = world.clone();
        async move {
            // Every kill has its share of the work, so that it meets some of it.
            let rounds = ITEMS / 5;
            for round in 0..rounds {
                allowed.wait_for(|kill| round < kill * rounds / kills()).await.unwrap();
                let outcome = if round % 7 == 0 { Outcome::Failed } else { Outcome::Succeeded };
                world.work(ticket, 5, outcome).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            world.store.close_run(ticket, Closing::default(), T0 + 9_000).await.unwrap();
        }
    });
    for kill in 0..kills() {
        begun.send(kill + 1).unwrap();
        // Every one has its own moment: the relay first, then ClickHouse under the next one.
        for pause in [kill * 17 % 160, 200 + kill * 37 % 500] {
            let relay = tokio::spawn(Relay::new(world.parts(1)).run());
            tokio::time::sleep(Duration::from_millis(pause)).await;
            relay.abort();
            let _ = relay.await;
        }
        let relay = tokio::spawn(Relay::new(world.parts(1)).run());
        tokio::time::sleep(Duration::from_millis(kill * 29 % 300)).await;
        server = tokio::task::spawn_blocking(move || server.crash()).await.unwrap();
        relay.abort();
        let _ = relay.await;
    }
    working.await.unwrap();
    world.catch_up(&mut world.relay()).await;
    world.assert_equal().await;
    let twice = "SELECT count() - uniqExact(item_id) FROM windrow_items FINAL";
    assert_eq!(world.client.perform(twice).await.unwrap().trim(), "0");
}
