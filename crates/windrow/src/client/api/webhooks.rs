//! Who is told of events over HTTP, and what was sent.

use windrow_model::HookId;
use windrow_model::hook::{DeliveryFilter, HookChange};
use windrow_wire::{
    DeliveryList, DeliveryView, NewWebhook, RotateSecret, TryView, Webhook, WebhookList, WebhookSecret,
};

use crate::app::error::Result;
use crate::app::webhooks;
use crate::app::wiring;
use crate::client::api::Api;
use crate::client::api::PAGE;
use crate::client::remote::NOTHING;

impl Api {
    pub async fn webhooks(&self) -> Result<WebhookList> {
        match self {
            Api::Local(app) => {
                Ok(WebhookList { webhooks: app.hooks.hooks().await?.iter().map(Webhook::from).collect() })
            }
            Api::Remote(remote) => remote.get(&["webhooks"], NOTHING).await,
        }
    }

    pub async fn add_webhook(&self, wish: NewWebhook) -> Result<WebhookSecret> {
        match self {
            Api::Local(app) => Ok(Box::pin(webhooks::register(app, wish, None, &wiring::actor())).await?.into()),
            Api::Remote(remote) => remote.post(&["webhooks"], &wish).await,
        }
    }

    /// What its endpoint says to a ping.
    pub async fn ping_webhook(&self, webhook: HookId) -> Result<TryView> {
        match self {
            Api::Local(app) => {
                let hook = app.hooks.hook(webhook).await?;
                Ok(TryView::from(&Box::pin(webhooks::ping(app, &hook)).await?))
            }
            Api::Remote(remote) => remote.post(&["webhooks", &webhook.to_string(), "test"], &()).await,
        }
    }

    pub async fn pause_webhook(&self, webhook: HookId) -> Result<Webhook> {
        self.steer_webhook(webhook, HookChange::Pause, "pause").await
    }

    pub async fn resume_webhook(&self, webhook: HookId) -> Result<Webhook> {
        self.steer_webhook(webhook, HookChange::Resume, "resume").await
    }

    async fn steer_webhook(&self, webhook: HookId, change: HookChange, word: &str) -> Result<Webhook> {
        match self {
            Api::Local(app) => Ok(Webhook::from(&app.hooks.change_hook(webhook, change, app.now()).await?)),
            Api::Remote(remote) => remote.post(&["webhooks", &webhook.to_string(), word], &()).await,
        }
    }

    pub async fn rotate_webhook(&self, webhook: HookId, overlap_hours: Option<i64>) -> Result<WebhookSecret> {
        match self {
            Api::Local(app) => Ok(webhooks::rotate(app, webhook, overlap_hours, &wiring::actor()).await?.into()),
            Api::Remote(remote) => {
                let wish = RotateSecret { overlap_hours };
                remote.post(&["webhooks", &webhook.to_string(), "rotate"], &wish).await
            }
        }
    }

    pub async fn delete_webhook(&self, webhook: HookId) -> Result<()> {
        match self {
            Api::Local(app) => webhooks::delete(app, &app.hooks.hook(webhook).await?).await,
            Api::Remote(remote) => remote.delete_silently(&["webhooks", &webhook.to_string()], NOTHING).await,
        }
    }

    pub async fn deliveries(&self, webhook: HookId, filter: DeliveryFilter) -> Result<DeliveryList> {
        match self {
            Api::Local(app) => {
                let limit = filter.limit;
                let hook = app.hooks.hook(webhook).await?;
                let found = app.hooks.deliveries(DeliveryFilter { hook: Some(hook.id), ..filter }).await?;
                let next = found.last().filter(|_| found.len() == limit).map(|delivery| delivery.id);
                Ok(DeliveryList { deliveries: found.iter().map(DeliveryView::from).collect(), next })
            }
            Api::Remote(remote) => {
                let DeliveryFilter { state, before, limit, .. } = filter;
                let query = (("state", state), ("before", before), ("limit", limit.min(PAGE)));
                remote.get(&["webhooks", &webhook.to_string(), "deliveries"], &query).await
            }
        }
    }

    pub async fn redeliver(&self, delivery: i64) -> Result<DeliveryView> {
        match self {
            Api::Local(app) => Ok(DeliveryView::from(&app.hooks.redeliver(delivery, app.now()).await?)),
            Api::Remote(remote) => remote.post(&["deliveries", &delivery.to_string(), "redeliver"], &()).await,
        }
    }
}
