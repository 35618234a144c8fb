//! Shared limits by Redis, and by the database while Redis is away. The keeper of the accounts is written in
//! the database with the time from which it is valid. A node uses Redis only while it has read that within the last two
//! seconds. The node that finds Redis gone appoints the database, and no call is admitted until all nodes have reported
//! their calls in flight. So a change exceeds no limit; it only costs these seconds.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use windrow_model::limit::shared::{Answer, Ask, SharedLimits};
use windrow_model::store::{Result, StoreError};
use windrow_model::{Clock, SessionId, Time};

use super::{Link, accounts};
use crate::sql::admin::limit_accounts::SETTLING_MS;
use crate::sql::admin::limit_authority::Authority;
use crate::store::SqlStore;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What was seen is acted on for so long.
const SEEN_FOR: Duration = Duration::from_secs(2);
/// Redis is trusted again when it has answered for so long.
const TRUSTED_AFTER: Duration = Duration::from_secs(30);

pub struct RedisLimits {
    store: Arc<SqlStore>,
    redis: Link,
    /// What accounts that this node begins are named after.
    name: String,
    trusted_after: Duration,
    clock: Arc<dyn Clock>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    authority: Option<(Authority, Instant)>,
    answers_since: Option<Instant>,
    trouble: Option<String>,
}

impl RedisLimits {
    /// `name` is unique to the node. It runs until it is dropped.
    pub fn start(store: Arc<SqlStore>, redis: Link, name: String, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::trusting(store, redis, name, clock, TRUSTED_AFTER)
    }

    /// The same with another idea of how long Redis has to answer before it is trusted again.
    pub fn trusting(
        store: Arc<SqlStore>,
        redis: Link,
        name: String,
        clock: Arc<dyn Clock>,
        trusted_after: Duration,
    ) -> Arc<Self> {
        let limits = Arc::new(Self { store, redis, name, trusted_after, clock, seen: Mutex::default() });
        tokio::spawn(look_after(Arc::downgrade(&limits)));
        limits
    }

    /// Whether Redis keeps the accounts now.
    pub fn is_by_redis(&self) -> bool {
        self.seen().authority.as_ref().is_some_and(|(authority, _)| authority.redis.is_some())
    }

    async fn look(&self) -> Result<Authority> {
        // From before the question: the answer may be that old.
        let asked_at = Instant::now();
        let authority = self.store.limit_authority().await?;
        self.note(&authority, asked_at);
        Ok(authority)
    }

    fn note(&self, authority: &Authority, at: Instant) {
        let mut seen = self.seen();
        if seen.authority.as_ref().is_none_or(|(known, _)| known.epoch <= authority.epoch) {
            seen.authority = Some((authority.clone(), at));
        }
    }

    /// What was seen within this time.
    fn known(&self, within: Duration) -> Option<Authority> {
        self.seen().authority.as_ref().filter(|(_, at)| at.elapsed() < within).map(|(authority, _)| authority.clone())
    }

    async fn look_around(&self) -> Result<()> {
        let pinged = self.redis.ping().await;
        let answers_since = {
            let mut seen = self.seen();
            match &pinged {
                Ok(()) => drop(seen.answers_since.get_or_insert_with(Instant::now)),
                Err(_) => seen.answers_since = None,
            }
            seen.trouble = pinged.as_ref().err().map(|error| self.trouble_of(error));
            seen.answers_since
        };
        let (authority, now) = (self.look().await?, self.clock.now());
        match &authority.redis {
            Some(place) => match pinged {
                Ok(()) => match accounts::keep(&self.redis, place).await {
                    Ok(()) => Ok(()),
                    Err(error) => self.fall_back(&authority, &error, now).await.map(drop),
                },
                Err(error) => self.fall_back(&authority, &error, now).await.map(drop),
            },
            None => {
                let for_long = answers_since.is_some_and(|since| since.elapsed() >= self.trusted_after);
                // The first time nothing speaks against it.
                let is_trusted = for_long || (authority.epoch == 0 && answers_since.is_some());
                let may = is_trusted && authority.since <= now && authority.redis_from <= now;
                if may { self.turn_to_redis(&authority, now).await } else { Ok(()) }
            }
        }
    }

    async fn turn_to_redis(&self, before: &Authority, now: Time) -> Result<()> {
        let epoch = before.epoch + 1;
        let place = format!("windrow:limits:{}:{epoch}", self.name);
        accounts::begin(&self.redis, &place).await?;
        let (redis, since) = (Some(place), now + SETTLING_MS);
        let next = Authority { epoch, redis, since, redis_from: before.redis_from };
        tracing::info!(redis = self.redis.place(), "limits are shared by Redis from now on");
        self.appoint(next).await.map(drop)
    }

    async fn fall_back(&self, before: &Authority, error: &StoreError, now: Time) -> Result<Authority> {
        self.seen().trouble = Some(self.trouble_of(error));
        let (since, redis_from) = (now + SETTLING_MS, now + TRUSTED_AFTER.min(self.trusted_after).as_millis() as i64);
        let next = self.appoint(Authority { epoch: before.epoch + 1, redis: None, since, redis_from }).await?;
        tracing::warn!(%error, "Redis is away; limits are shared by the database, after a pause of some seconds");
        Ok(next)
    }

    async fn appoint(&self, next: Authority) -> Result<Authority> {
        let asked_at = Instant::now();
        let holds = self.store.appoint(next).await?;
        self.note(&holds, asked_at);
        Ok(holds)
    }

    fn trouble_of(&self, error: &StoreError) -> String {
        format!("{} is unavailable; work continues without it, slower ({error})", self.redis.place())
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look_after(limits: Weak<RedisLimits>) {
    while let Some(limits) = limits.upgrade() {
        if let Err(error) = limits.look_around().await {
            tracing::debug!(%error, "who keeps the limits is not known");
        }
        drop(limits);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[async_trait]
impl SharedLimits for RedisLimits {
    async fn ask(&self, session: SessionId, asks: Vec<Ask>, now: Time) -> Result<Vec<Answer>> {
        // Well before it is too old, so that it is not when the answer has come.
        let authority = match self.known(LOOK_EVERY) {
            Some(authority) => authority,
            None => self.look().await?,
        };
        let count = asks.len();
        let wait_for = |next: Authority| vec![Answer::not_yet(next.epoch, (next.since - now).max(1)); count];
        let Some(place) = &authority.redis else {
            let asked_at = Instant::now();
            return match self.store.ask_accounts(session, asks, now).await? {
                Ok(answers) => Ok(answers),
                Err(next) => {
                    self.note(&next, asked_at);
                    Ok(wait_for(next))
                }
            };
        };
        match accounts::ask(&self.redis, place, &authority, session, &asks, now).await {
            // What was seen may have become too old meanwhile.
            Ok(answers) if self.known(SEEN_FOR).is_some_and(|known| known.epoch == authority.epoch) => Ok(answers),
            Ok(_) => Err(StoreError::Unavailable("who keeps the limits has changed meanwhile".into())),
            Err(error) => self.fall_back(&authority, &error, now).await.map(wait_for),
        }
    }

    fn trouble(&self) -> Option<String> {
        self.seen().trouble.clone()
    }
}
