//! Numbers over all jobs.

use windrow_analytics::trends::{self, Order};
use windrow_model::Time;
use windrow_model::state::Outcome;

use crate::fixture::*;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_counted_per_day_and_model_and_rows_over_all_results() {
    let world = World::new();
    let first = planned(&*world.store, "a", (0..4).map(new_item).collect()).await;
    let second = planned_as(&*world.store, submission(200, "b"), (0..4).map(new_item).collect()).await;
    let items = world.work(first, 4, Outcome::Succeeded).await;
    world.work(second, 2, Outcome::Failed).await;
    world.catch_up(&mut world.relay()).await;
    let usage = trends::usage(&world.client, Some("w"), Time(0)).await.unwrap();
    let [day] = usage.as_slice() else { panic!("{usage:?}") };
    assert_eq!((day.day.as_str(), day.model.as_str(), day.calls), ("2027-01-15", "mock-1", 6));
    assert_eq!(day.cost_nanos, 18);
    assert_eq!(trends::usage(&world.client, Some("other"), Time(0)).await.unwrap(), []);
    let slowest = trends::rows(&world.client, Some("w"), None, Order::Slowest, 10).await.unwrap();
    assert_eq!(slowest.len(), items.len() + 2);
    assert_eq!(slowest[0].mean_latency_ms, Some(12.0));
    assert_eq!(trends::rows(&world.client, Some("w"), None, Order::Flakiest, 10).await.unwrap(), []);
}
