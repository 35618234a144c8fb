//! Webhooks and their deliveries.

use windrow_model::HookId;
use windrow_model::hook::{DeliveryFilter, HookChange};
use windrow_wire::{
    DeliveryList, DeliveryView, NewWebhook, RotateSecret, TryView, Webhook, WebhookList, WebhookSecret,
};

use crate::app::webhooks;
use crate::client::api::{Api, PAGE};
use crate::client::remote::NOTHING;
use crate::error::Result;

impl Api {
    pub async fn webhooks(&self) -> Result<WebhookList> {
        match self {
            Api::Local(app, actor) => webhooks::list(app, actor).await,
            Api::Remote(remote) => remote.get(&["webhooks"], NOTHING).await,
        }
    }

    pub async fn add_webhook(&self, wish: NewWebhook) -> Result<WebhookSecret> {
        match self {
            Api::Local(app, actor) => {
                let url = wish.url.clone();
                let register = |change| async move { webhooks::register(app, &change, wish).await };
                app.act(actor, "webhooks add", &url, register).await
            }
            Api::Remote(remote) => remote.post(&["webhooks"], &wish).await,
        }
    }

    /// The response of its endpoint to a test delivery.
    pub async fn ping_webhook(&self, webhook: HookId) -> Result<TryView> {
        match self {
            Api::Local(app, actor) => webhooks::ping(app, actor, webhook).await,
            Api::Remote(remote) => remote.post(&["webhooks", &webhook.to_string(), "test"], &()).await,
        }
    }

    pub async fn pause_webhook(&self, webhook: HookId) -> Result<Webhook> {
        self.set_webhook_state(webhook, HookChange::Pause, "pause").await
    }

    pub async fn resume_webhook(&self, webhook: HookId) -> Result<Webhook> {
        self.set_webhook_state(webhook, HookChange::Resume, "resume").await
    }

    async fn set_webhook_state(&self, webhook: HookId, state: HookChange, verb: &str) -> Result<Webhook> {
        let id = webhook.to_string();
        match self {
            Api::Local(app, actor) => {
                let set = |change| async move { webhooks::set_state(app, &change, webhook, state).await };
                app.act(actor, &format!("webhooks {verb}"), &id, set).await
            }
            Api::Remote(remote) => remote.post(&["webhooks", &id, verb], &()).await,
        }
    }

    pub async fn rotate_webhook(&self, webhook: HookId, overlap_hours: Option<i64>) -> Result<WebhookSecret> {
        let (id, wish) = (webhook.to_string(), RotateSecret { overlap_hours });
        match self {
            Api::Local(app, actor) => {
                let rotate = |change| async move { webhooks::rotate(app, &change, webhook, wish).await };
                app.act(actor, "webhooks rotate", &id, rotate).await
            }
            Api::Remote(remote) => remote.post(&["webhooks", &id, "rotate"], &wish).await,
        }
    }

    pub async fn delete_webhook(&self, webhook: HookId) -> Result<()> {
        let id = webhook.to_string();
        match self {
            Api::Local(app, actor) => {
                let delete = |change| async move { webhooks::delete(app, &change, webhook).await };
                app.act(actor, "webhooks delete", &id, delete).await
            }
            Api::Remote(remote) => remote.delete_silently(&["webhooks", &id], NOTHING).await,
        }
    }

    pub async fn deliveries(&self, webhook: HookId, filter: DeliveryFilter) -> Result<DeliveryList> {
        match self {
            Api::Local(app, actor) => webhooks::deliveries(app, actor, webhook, filter).await,
            Api::Remote(remote) => {
                let DeliveryFilter { state, before, limit, .. } = filter;
                let query = (("state", state), ("before", before), ("limit", limit.min(PAGE)));
                remote.get(&["webhooks", &webhook.to_string(), "deliveries"], &query).await
            }
        }
    }

    pub async fn redeliver(&self, delivery: i64) -> Result<DeliveryView> {
        let id = delivery.to_string();
        match self {
            Api::Local(app, actor) => {
                let redeliver = |change| async move { webhooks::redeliver(app, &change, delivery).await };
                app.act(actor, "webhooks redeliver", &id, redeliver).await
            }
            Api::Remote(remote) => remote.post(&["deliveries", &id, "redeliver"], &()).await,
        }
    }
}
