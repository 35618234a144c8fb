//! API keys, as text `wrw_<id>_<secret>` with a secret of 256 random bits. Only a hash of the secret is stored. A
//! fast hash is right here: the length of the secret makes guessing hopeless, and every request would pay for a slow
//! one.

use std::fmt;
use std::str::FromStr;

use windrow_model::access::{ApiKey, KeyDigest};
use windrow_model::{KeyId, Time};
use windrow_wire::request::NewKey;
use windrow_wire::{CreatedKey, KeyList, KeyView};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::{Code, Error, Result};

const PREFIX: &str = "wrw_";
const LONGEST_NAME: usize = 100;
const HOUR_MS: i64 = 3_600_000;

/// Not `Debug`: it must not end up in a log.
pub struct Secret {
    pub id: KeyId,
    bits: [u8; 32],
}

impl Secret {
    fn mint(now: Time) -> Result<Self> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(|error| {
            Error::new(format!("no random numbers from the operating system: {error}"), "try again")
        })?;
        Ok(Self { id: KeyId::mint(now, fastrand::u64(..)), bits })
    }

    fn digest(&self) -> KeyDigest {
        KeyDigest(*blake3::hash(&self.bits).as_bytes())
    }

    /// Takes the same time whatever is different.
    pub fn opens(&self, key: &ApiKey) -> bool {
        blake3::hash(&self.bits) == blake3::Hash::from_bytes(key.digest.0)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.to_string();
        write!(f, "{PREFIX}{}_", id.trim_start_matches("key_"))?;
        self.bits.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Secret {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (id, secret) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).ok_or(())?;
        let bits = blake3::Hash::from_hex(secret).map_err(|_| ())?;
        Ok(Self { id: format!("key_{id}").parse().map_err(|_| ())?, bits: *bits.as_bytes() })
    }
}

/// All keys, also revoked and expired ones. An actor of one workspace sees the keys of that one.
pub async fn list(app: &App, actor: &Actor) -> Result<KeyList> {
    let now = app.now();
    let mut keys = app.access.keys().await?;
    keys.retain(|key| actor.workspace.is_none() || key.workspace == actor.workspace);
    Ok(KeyList { keys: keys.iter().map(|key| KeyView::of(key, now)).collect() })
}

/// The answer is the only time that the secret is shown.
pub async fn create(app: &App, change: &Change, wish: NewKey) -> Result<CreatedKey> {
    let odd = |c: char| c.is_control() || c.is_whitespace();
    if wish.name.is_empty() || wish.name.chars().count() > LONGEST_NAME || wish.name.contains(odd) {
        let remedy = format!("a name has 1 to {LONGEST_NAME} characters, without spaces");
        return Err(Error::invalid("name", format!("invalid key name {:?}", wish.name), remedy));
    }
    let workspace = change.actor.within(wish.workspace.as_deref())?.workspace;
    let lifetime_ms = wish.expires_in.as_deref().map(lifetime_ms).transpose();
    let lifetime_ms =
        lifetime_ms.map_err(|why| Error::invalid("expires_in", why, "leave it out for a key that never expires"))?;
    let now = app.now();
    let secret = Secret::mint(now)?;
    let key = ApiKey {
        id: secret.id,
        name: wish.name,
        role: wish.role,
        workspace,
        digest: secret.digest(),
        created_by: change.actor.name.clone(),
        created_at: now,
        expires_at: lifetime_ms.map(|ms| now + ms),
        revoked_at: None,
        used_at: None,
    };
    app.access.add_key(key.clone()).await?;
    Ok(CreatedKey { secret: secret.to_string(), key: KeyView::of(&key, now) })
}

pub async fn revoke(app: &App, change: &Change, key: &str) -> Result<KeyView> {
    let found = find(app, change.actor.workspace.as_deref(), key).await?;
    Ok(KeyView::of(&app.access.revoke_key(found.id, app.now()).await?, app.now()))
}

/// By id, or by name: then the one that is not revoked. In one workspace only if one is given.
async fn find(app: &App, workspace: Option<&str>, text: &str) -> Result<ApiKey> {
    let mut keys = app.access.keys().await?;
    keys.retain(|key| workspace.is_none() || key.workspace.as_deref() == workspace);
    let id = text.parse::<KeyId>().ok();
    let by_id = keys.iter().find(|key| Some(key.id) == id);
    let found = by_id.or_else(|| keys.iter().find(|key| key.name == text && key.revoked_at.is_none()));
    found.cloned().ok_or_else(|| {
        Error::new(format!("key {text:?} not found"), "list keys with `windrow keys list`").coded(Code::NotFound)
    })
}

/// `90d`, `2w`, or what a length of time may be elsewhere.
pub fn lifetime_ms(text: &str) -> std::result::Result<i64, String> {
    let hours = |digits: &str, each: i64| digits.trim().parse::<i64>().ok().and_then(|n| n.checked_mul(each * HOUR_MS));
    let ms = match (text.strip_suffix('d'), text.strip_suffix('w')) {
        (Some(days), _) => hours(days, 24),
        (_, Some(weeks)) => hours(weeks, 24 * 7),
        _ => text.parse::<windrow_jobfile::duration::Duration>().ok().map(|duration| duration.ms),
    };
    // A century is for ever, and far from the end of what a time can be.
    ms.filter(|ms| (1..=100 * 366 * 24 * HOUR_MS).contains(ms))
        .ok_or_else(|| format!("invalid duration {text:?}: use e.g. 90d, 2w or 12h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_survives_text_and_opens_its_own_key_only() {
        let secret = Secret::mint(Time(1_800_000_000_000)).unwrap_or_else(|_| panic!("random bits"));
        let text = secret.to_string();
        assert_eq!((text.len(), &text[..4]), (82, "wrw_"));
        let read: Secret = text.parse().unwrap();
        assert_eq!((read.id, read.bits), (secret.id, secret.bits));
        for broken in ["", "wrw_", &text[..81], &text[4..], &format!("{text}0"), &text.replace("wrw", "ghp")] {
            assert!(broken.parse::<Secret>().is_err(), "{broken}");
        }
        let other = Secret::mint(Time(0)).unwrap_or_else(|_| panic!("random bits"));
        assert_ne!(other.digest().0, secret.digest().0);
    }

    #[test]
    fn a_lifetime_is_written_in_days_or_shorter() {
        for (text, hours) in [("90d", 90 * 24), ("2w", 14 * 24), ("12h", 12), ("1d", 24)] {
            assert_eq!(lifetime_ms(text), Ok(hours * HOUR_MS), "{text}");
        }
        for wrong in ["", "d", "-1d", "0d", "90", "forever", "99999999999999d"] {
            assert!(lifetime_ms(wrong).is_err(), "{wrong}");
        }
    }
}
