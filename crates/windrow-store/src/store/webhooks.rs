//! The port of webhooks, carried to the writer or a reader.

use async_trait::async_trait;
use windrow_model::hook::*;
use windrow_model::store::Result;
use windrow_model::{HookId, Time};

use crate::sql::admin::{deliveries, fan_out, hooks, settle};
use crate::store::SqlStore;

#[async_trait]
impl HookStore for SqlStore {
    async fn add_hook(&self, hook: NewHook, now: Time) -> Result<Hook> {
        self.number_events().await?;
        self.write("add_hook", move |tx| hooks::add(tx, &hook, now)).await
    }

    async fn change_hook(&self, hook: HookId, change: HookChange, _now: Time) -> Result<Hook> {
        self.number_events().await?;
        self.write("change_hook", move |tx| hooks::change(tx, hook, &change)).await
    }

    async fn delete_hook(&self, hook: HookId) -> Result<()> {
        self.write("delete_hook", move |tx| hooks::delete(tx, hook)).await
    }

    async fn fan_out(&self, limit: usize, now: Time) -> Result<bool> {
        // Asked of a reader first: a write is a flush to disk, and there is seldom something to do.
        if !self.read_events("fan_out", fan_out::is_behind).await? {
            return Ok(false);
        }
        self.write("fan_out", move |tx| fan_out::fan_out(tx, limit, now)).await
    }

    async fn announce(&self, announcement: Announcement, now: Time) -> Result<usize> {
        self.write("announce", move |tx| fan_out::announce(tx, &announcement, now)).await
    }

    async fn claim_deliveries(&self, limit: usize, now: Time) -> Result<Vec<(Hook, Delivery)>> {
        if self.read("claim_deliveries", deliveries::next_at).await?.is_none_or(|next| next > now) {
            return Ok(Vec::new());
        }
        self.write("claim_deliveries", move |tx| deliveries::claim(tx, limit, now)).await
    }

    async fn settle_delivery(&self, claimed: &Delivery, tried: Try, decision: Decision, now: Time) -> Result<()> {
        let claimed = claimed.clone();
        self.write("settle_delivery", move |tx| settle::settle(tx, &claimed, tried.clone(), decision, now)).await
    }

    async fn redeliver(&self, delivery: i64, now: Time) -> Result<Delivery> {
        self.write("redeliver", move |tx| deliveries::redeliver(tx, delivery, now)).await
    }

    async fn sweep_deliveries(&self) -> Result<i64> {
        self.write("sweep_deliveries", deliveries::sweep).await
    }

    async fn hooks(&self) -> Result<Vec<Hook>> {
        self.read("hooks", hooks::all).await
    }

    async fn hook(&self, hook: HookId) -> Result<Hook> {
        self.read("hook", move |conn| hooks::hook(conn, hook)).await
    }

    async fn delivery(&self, delivery: i64) -> Result<Delivery> {
        self.read("delivery", move |conn| deliveries::delivery(conn, delivery)).await
    }

    async fn deliveries(&self, filter: DeliveryFilter) -> Result<Vec<Delivery>> {
        self.read("deliveries", move |conn| deliveries::page(conn, &filter)).await
    }

    async fn next_delivery_at(&self) -> Result<Option<Time>> {
        self.read("next_delivery_at", deliveries::next_at).await
    }
}
