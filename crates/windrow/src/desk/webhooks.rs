//! Who is told of events over HTTP, and what was sent.

use windrow_model::HookId;
use windrow_model::hook::{DeliveryFilter, HookChange};
use windrow_wire::{
    DeliveryList, DeliveryView, NewWebhook, RotateSecret, TryView, Webhook, WebhookList, WebhookSecret,
};

use super::{Desk, PAGE};
use crate::error::Result;
use crate::remote::NOTHING;
use crate::{webhooks, wiring};

impl Desk {
    pub async fn webhooks(&self) -> Result<WebhookList> {
        match self {
            Desk::Folder(app) => {
                Ok(WebhookList { webhooks: app.hooks.hooks().await?.iter().map(Webhook::from).collect() })
            }
            Desk::Server(remote) => remote.get(&["webhooks"], NOTHING).await,
        }
    }

    pub async fn add_webhook(&self, wish: NewWebhook) -> Result<WebhookSecret> {
        match self {
            Desk::Folder(app) => Ok(Box::pin(webhooks::register(app, wish, None, &wiring::actor())).await?.into()),
            Desk::Server(remote) => remote.post(&["webhooks"], &wish).await,
        }
    }

    /// What its endpoint says to a ping.
    pub async fn ping_webhook(&self, webhook: HookId) -> Result<TryView> {
        match self {
            Desk::Folder(app) => {
                let hook = app.hooks.hook(webhook).await?;
                Ok(TryView::from(&Box::pin(webhooks::ping(app, &hook)).await?))
            }
            Desk::Server(remote) => remote.post(&["webhooks", &webhook.to_string(), "test"], &()).await,
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
            Desk::Folder(app) => Ok(Webhook::from(&app.hooks.change_hook(webhook, change, app.now()).await?)),
            Desk::Server(remote) => remote.post(&["webhooks", &webhook.to_string(), word], &()).await,
        }
    }

    pub async fn rotate_webhook(&self, webhook: HookId, overlap_hours: Option<i64>) -> Result<WebhookSecret> {
        match self {
            Desk::Folder(app) => Ok(webhooks::rotate(app, webhook, overlap_hours, &wiring::actor()).await?.into()),
            Desk::Server(remote) => {
                let wish = RotateSecret { overlap_hours };
                remote.post(&["webhooks", &webhook.to_string(), "rotate"], &wish).await
            }
        }
    }

    pub async fn delete_webhook(&self, webhook: HookId) -> Result<()> {
        match self {
            Desk::Folder(app) => webhooks::delete(app, &app.hooks.hook(webhook).await?).await,
            Desk::Server(remote) => remote.delete_silently(&["webhooks", &webhook.to_string()], NOTHING).await,
        }
    }

    pub async fn deliveries(&self, webhook: HookId, filter: DeliveryFilter) -> Result<DeliveryList> {
        match self {
            Desk::Folder(app) => {
                let limit = filter.limit;
                let hook = app.hooks.hook(webhook).await?;
                let found = app.hooks.deliveries(DeliveryFilter { hook: Some(hook.id), ..filter }).await?;
                let next = found.last().filter(|_| found.len() == limit).map(|delivery| delivery.id);
                Ok(DeliveryList { deliveries: found.iter().map(DeliveryView::from).collect(), next })
            }
            Desk::Server(remote) => {
                let DeliveryFilter { state, before, limit, .. } = filter;
                let query = (("state", state), ("before", before), ("limit", limit.min(PAGE)));
                remote.get(&["webhooks", &webhook.to_string(), "deliveries"], &query).await
            }
        }
    }

    pub async fn redeliver(&self, delivery: i64) -> Result<DeliveryView> {
        match self {
            Desk::Folder(app) => Ok(DeliveryView::from(&app.hooks.redeliver(delivery, app.now()).await?)),
            Desk::Server(remote) => remote.post(&["deliveries", &delivery.to_string(), "redeliver"], &()).await,
        }
    }
}
