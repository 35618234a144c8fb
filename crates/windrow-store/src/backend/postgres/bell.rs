//! Wake-ups between nodes by LISTEN and NOTIFY, on two connections of their own: one waits, one rings. Rings are
//! sent outside of transactions and at most every few milliseconds, since PostgreSQL lets only one transaction
//! with a notification commit at a time.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use tokio::sync::Notify;
use windrow_model::bell::Bell;
use windrow_model::store::{Result, StoreError};

use crate::backend;
use crate::backend::postgres::Address;

/// Rings closer together than this are one.
const GAP: Duration = Duration::from_millis(10);
/// How long after a lost connection another is tried.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a listener looks whether anybody still wants to know.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) struct Listening {
    ring: SyncSender<()>,
    heard: Arc<Notify>,
}

impl Listening {
    /// The threads end when this is dropped.
    pub fn start(address: &Address) -> Result<Self> {
        let (ring, rings) = sync_channel(1);
        let heard = Arc::new(Notify::new());
        // The server process that sends our own notifications; a node does not wake itself.
        let sender = Arc::new(AtomicI32::new(0));
        let (to, us) = (address.clone(), sender.clone());
        spawn("windrow-rings", move || send_rings(&to, &us, &rings))?;
        let (from, listener) = (address.clone(), Arc::downgrade(&heard));
        spawn("windrow-hears", move || hear_rings(&from, &sender, &listener))?;
        Ok(Self { ring, heard })
    }
}

#[async_trait]
impl Bell for Listening {
    fn ring(&self) {
        // If it is full, the one that waits to be sent says it all.
        let _ = self.ring.try_send(());
    }

    async fn heard(&self) {
        self.heard.notified().await;
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| StoreError::Unavailable(format!("cannot start a thread: {error}")))
}

fn send_rings(address: &Address, us: &AtomicI32, rings: &Receiver<()>) {
    let (mut client, channel) = (None, address.channel());
    while rings.recv().is_ok() {
        match ring(address, &mut client, &channel, us) {
            Ok(()) => std::thread::sleep(GAP),
            Err(error) => {
                tracing::debug!(%error, "other nodes could not be woken; they look by themselves");
                client = None;
                std::thread::sleep(AGAIN);
            }
        }
    }
}

fn ring(address: &Address, client: &mut Option<Client>, channel: &str, us: &AtomicI32) -> backend::Result<()> {
    let client = match client {
        Some(client) => client,
        none => {
            let mut client = address.client()?;
            us.store(client.query_one("SELECT pg_backend_pid()", &[])?.try_get(0)?, Ordering::Relaxed);
            none.insert(client)
        }
    };
    client.execute("SELECT pg_notify($1, '')", &[&channel])?;
    Ok(())
}

fn hear_rings(address: &Address, us: &AtomicI32, heard: &Weak<Notify>) {
    while heard.strong_count() > 0 {
        if let Err(error) = listen(address, us, heard) {
            tracing::debug!(%error, "not woken by other nodes for a moment");
            std::thread::sleep(AGAIN);
        }
    }
}

fn listen(address: &Address, us: &AtomicI32, heard: &Weak<Notify>) -> backend::Result<()> {
    let mut client = address.client()?;
    client.batch_execute(&format!("LISTEN {}", address.channel()))?;
    // Notifications that were sent before the subscription.
    heard.upgrade().inspect(|heard| heard.notify_one());
    loop {
        let mut notifications = client.notifications();
        let mut waiting = notifications.timeout_iter(LOOK);
        while let Some(notification) = waiting.next()? {
            if notification.process_id() != us.load(Ordering::Relaxed) {
                heard.upgrade().inspect(|heard| heard.notify_one());
            }
        }
        if heard.strong_count() == 0 {
            return Ok(());
        }
    }
}
