//! Wake-ups between nodes by Redis, where the database cannot tell one node of another. A ring is published and
//! forgotten; who was not there looks by himself soon enough.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use tokio::sync::{Notify, mpsc};
use windrow_model::bell::Bell;

use super::Link;

/// Rings closer together than this are one.
const GAP: Duration = Duration::from_millis(10);
/// How long after a lost connection another is tried.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a listener looks whether anybody still wants to know.
const LOOK: Duration = Duration::from_secs(1);

pub struct RedisBell {
    ring: mpsc::Sender<()>,
    heard: Arc<Notify>,
}

impl RedisBell {
    /// Among the nodes of one `installation`; `name` is unique to the node. It ends when it is dropped.
    pub fn start(redis: Link, installation: &str, name: String) -> Self {
        let (ring, rings) = mpsc::channel(1);
        let (redis, heard) = (Arc::new(redis), Arc::new(Notify::new()));
        let channel = format!("windrow:bell:{installation}");
        tokio::spawn(send_rings(redis.clone(), channel.clone(), name.clone(), rings));
        tokio::spawn(hear_rings(redis, channel, name, Arc::downgrade(&heard)));
        Self { ring, heard }
    }
}

#[async_trait]
impl Bell for RedisBell {
    fn ring(&self) {
        // If it is full, the one that waits to be sent says it all.
        let _ = self.ring.try_send(());
    }

    async fn heard(&self) {
        self.heard.notified().await;
    }
}

async fn send_rings(redis: Arc<Link>, channel: String, name: String, mut rings: mpsc::Receiver<()>) {
    while rings.recv().await.is_some() {
        let sent = redis.ask::<i64>(redis::cmd("PUBLISH").arg(&channel).arg(&name)).await;
        let pause = sent.map_or(AGAIN, |_| GAP);
        tokio::time::sleep(pause).await;
    }
}

async fn hear_rings(redis: Arc<Link>, channel: String, name: String, heard: Weak<Notify>) {
    while heard.strong_count() > 0 {
        if let Err(error) = listen(&redis, &channel, &name, &heard).await {
            tracing::debug!(%error, "not woken by other nodes for a moment");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

async fn listen(redis: &Link, channel: &str, name: &str, heard: &Weak<Notify>) -> redis::RedisResult<()> {
    let mut subscription = redis.subscribe(channel).await?;
    // Notifications that were sent before the subscription.
    heard.upgrade().inspect(|heard| heard.notify_one());
    let mut messages = subscription.on_message();
    while heard.strong_count() > 0 {
        match tokio::time::timeout(LOOK, messages.next()).await {
            // A node does not wake itself.
            Ok(Some(message)) if message.get_payload_bytes() == name.as_bytes() => {}
            Ok(Some(_)) => drop(heard.upgrade().inspect(|heard| heard.notify_one())),
            Ok(None) => return Ok(()),
            Err(_) => {}
        }
    }
    Ok(())
}
