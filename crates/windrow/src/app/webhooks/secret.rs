//! The secrets that receivers check signatures with: `whsec_` and base64, as Standard Webhooks has it. They are kept
//! in the vault, sealed; a webhook knows the names of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use windrow_model::hook::Hook;
use windrow_model::{HookId, Time};

use crate::app::App;
use crate::app::secrets::Vault;
use crate::error::{Error, Result};

const PREFIX: &str = "whsec_";
const BYTES: usize = 32;
/// No job is in this workspace, so that none can name these.
const WORKSPACE: &str = ":webhooks";

/// A new one for the webhook: its name, and what nobody is shown again.
pub async fn make(app: &App, hook: HookId, actor: &str, now: Time) -> Result<(String, String)> {
    let mut bytes = [0; BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::new("no random numbers from the operating system", "retry"))?;
    let (name, secret) = (format!("{hook}.{}", now.0), format!("{PREFIX}{}", STANDARD.encode(bytes)));
    app.vault().set(WORKSPACE, &name, &secret, actor, now).await?;
    Ok((name, secret))
}

/// Keeps one that the owner chose.
pub async fn keep(app: &App, name: &str, secret: &str, actor: &str, now: Time) -> Result<()> {
    app.vault().set(WORKSPACE, name, secret, actor, now).await?;
    Ok(())
}

/// Those that sign now, the newest first.
pub async fn open(vault: &Vault, hook: &Hook, now: Time) -> Result<Vec<String>> {
    let mut secrets = Vec::new();
    for name in hook.secrets(now) {
        let lost = || {
            Error::new(format!("signing secret {name} not found"), "create a new one with `windrow webhooks rotate`")
        };
        secrets.push(vault.value(WORKSPACE, name).await?.ok_or_else(lost)?);
    }
    Ok(secrets)
}

/// Forgets one that signs no more; that it is gone already is as good.
pub async fn forget(app: &App, name: &str) {
    if let Err(error) = app.vault().delete(WORKSPACE, name).await {
        tracing::debug!(name, ?error, "failed to delete a signing secret");
    }
}

/// The bytes that sign.
pub fn key(secret: &str) -> Vec<u8> {
    let text = secret.strip_prefix(PREFIX).unwrap_or(secret);
    STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())
}
