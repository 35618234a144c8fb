//! API keys, cached by this process. A key is read from the store again after a second, so that one revoked by another
//! process is rejected here too; a key revoked through this server is dropped at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windrow_model::access::{AccessStore, ApiKey, KeyState};
use windrow_model::store::StoreError;
use windrow_model::{Clock, KeyId, Time};

use crate::app::keys::Secret;

const TRUSTED_MS: i64 = 1000;
const LOOK_EVERY: Duration = Duration::from_secs(1);
const MINUTE_MS: i64 = 60_000;

pub struct Keyring {
    store: Arc<dyn AccessStore>,
    clock: Arc<dyn Clock>,
    /// Keys in use.
    known: Mutex<HashMap<KeyId, Known>>,
    /// A key exists. This does not change back.
    needed: AtomicBool,
    looked_at: AtomicI64,
}

struct Known {
    key: ApiKey,
    looked_at: Time,
}

pub enum Tried {
    Opened(ApiKey),
    /// The secret is right, but the key is expired or revoked.
    Over(ApiKey, KeyState),
    Unknown,
}

impl Keyring {
    pub fn new(store: Arc<dyn AccessStore>, clock: Arc<dyn Clock>) -> Self {
        let (known, needed) = (Mutex::default(), AtomicBool::new(false));
        Self { store, clock, known, needed, looked_at: AtomicI64::new(i64::MIN / 2) }
    }

    /// Whether a request needs a key: from the first key on.
    pub async fn needed(&self) -> Result<bool, StoreError> {
        if self.needed.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let now = self.clock.now();
        if now.0 - self.looked_at.load(Ordering::Relaxed) < TRUSTED_MS {
            return Ok(false);
        }
        let needed = self.store.has_keys().await?;
        self.needed.fetch_or(needed, Ordering::Relaxed);
        self.looked_at.store(now.0, Ordering::Relaxed);
        Ok(needed)
    }

    pub async fn try_secret(&self, text: &str) -> Result<Tried, StoreError> {
        let Ok(secret) = text.parse::<Secret>() else { return Ok(Tried::Unknown) };
        let Some(key) = self.key(secret.id).await?.filter(|key| secret.opens(key)) else { return Ok(Tried::Unknown) };
        match key.state(self.clock.now()) {
            KeyState::Active => Ok(Tried::Opened(key)),
            over => Ok(Tried::Over(key, over)),
        }
    }

    /// Returns when the key is expired or revoked.
    pub async fn over(&self, id: KeyId) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // A failing store says nothing about the key.
            let Ok(found) = self.key(id).await else { continue };
            if found.is_none_or(|key| key.state(self.clock.now()) != KeyState::Active) {
                return;
            }
        }
    }

    /// All keys are read from the store again.
    pub fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.looked_at.store(i64::MIN / 2, Ordering::Relaxed);
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreError> {
        let now = self.clock.now();
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&id)
            && now - known.looked_at < TRUSTED_MS
        {
            return Ok(Some(known.key.clone()));
        }
        let Some(mut key) = self.store.key(id).await? else { return Ok(None) };
        self.note_use(&mut key, now);
        let known = Known { key: key.clone(), looked_at: now };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, known);
        Ok(Some(key))
    }

    /// Once a minute, in the background.
    fn note_use(&self, key: &mut ApiKey, now: Time) {
        let minute = Time(now.0 - now.0 % MINUTE_MS);
        if key.used_at >= Some(minute) || key.state(now) != KeyState::Active {
            return;
        }
        key.used_at = Some(minute);
        let (store, id) = (self.store.clone(), key.id);
        tokio::spawn(async move {
            if let Err(error) = store.note_key_use(id, minute).await {
                tracing::warn!(%error, key = %id, "failed to store the last use of a key");
            }
        });
    }
}
