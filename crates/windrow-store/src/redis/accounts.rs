//! The accounts of one epoch, in one hash. They are decided over here, by the same function as in the database, and
//! Redis only takes the new state if it still has the one that was read. A mark in the hash shows that Redis
//! is the one that was begun with and has forgotten nothing.

use windrow_model::limit::account::Account;
use windrow_model::limit::shared::{Answer, Ask};
use windrow_model::store::{Result, StoreError};
use windrow_model::{Json, SessionId, Time};

use super::Link;
use crate::sql::admin::limit_authority::Authority;

const MARK: &str = "@";
/// Accounts that were not used for this long expire.
const KEPT_S: i64 = 86_400;
/// How often others may come first.
const AGAIN: usize = 100;

/// Returns the resources that another node has changed meanwhile; nothing if the mark is gone.
const SWAP: &str = "
if redis.call('HEXISTS', KEYS[1], '@') == 0 then return false end
local changed = {}
for i = 1, #ARGV, 3 do
  if (redis.call('HGET', KEYS[1], ARGV[i]) or '') == ARGV[i + 1] then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
  else
    changed[#changed + 1] = ARGV[i]
  end
end
return changed";

pub(super) async fn begin(redis: &Link, place: &str) -> Result<()> {
    redis.ask::<i64>(redis::cmd("HSET").arg(place).arg(MARK).arg(1)).await?;
    keep(redis, place).await
}

/// An error if it has forgotten them.
pub(super) async fn keep(redis: &Link, place: &str) -> Result<()> {
    match redis.ask::<bool>(redis::cmd("EXPIRE").arg(place).arg(KEPT_S)).await? {
        true => Ok(()),
        false => Err(forgotten()),
    }
}

pub(super) async fn ask(
    redis: &Link,
    place: &str,
    authority: &Authority,
    session: SessionId,
    asks: &[Ask],
    now: Time,
) -> Result<Vec<Answer>> {
    let mut answers = vec![Answer::default(); asks.len()];
    let mut open: Vec<usize> = (0..asks.len()).collect();
    for _ in 0..AGAIN {
        let mut read = redis::cmd("HMGET");
        read.arg(place).arg(MARK);
        for at in &open {
            read.arg(&asks[*at].resource);
        }
        let found: Vec<Option<String>> = redis.ask(&read).await?;
        let Some((Some(_), kept)) = found.split_first() else { return Err(forgotten()) };
        let mut swap = redis::cmd("EVAL");
        swap.arg(SWAP).arg(1).arg(place);
        for (at, kept) in open.iter().zip(kept) {
            let ask = &asks[*at];
            let mut account = account(kept.as_deref(), authority)?;
            answers[*at] = account.ask(session, ask, now);
            swap.arg(&ask.resource).arg(kept.as_deref().unwrap_or_default()).arg(Json::of(&account).as_str());
        }
        let changed: Vec<String> = redis.ask::<Option<_>>(&swap).await?.ok_or_else(forgotten)?;
        open.retain(|at| changed.contains(&asks[*at].resource));
        if open.is_empty() {
            return Ok(answers);
        }
    }
    Err(StoreError::Unavailable("Redis: too many nodes ask about the same limit at the same time".into()))
}

fn account(kept: Option<&str>, authority: &Authority) -> Result<Account> {
    let Some(kept) = kept else { return Ok(Account::new(authority.epoch, authority.since)) };
    serde_json::from_str(kept).map_err(|error| StoreError::Unavailable(format!("Redis: a limit is damaged: {error}")))
}

fn forgotten() -> StoreError {
    StoreError::Unavailable("Redis has forgotten what was used of the limits".into())
}
