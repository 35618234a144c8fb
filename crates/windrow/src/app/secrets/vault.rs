//! Encrypted secrets and their key. The key is read again whenever it is needed, so that a change of it reaches a
//! running server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use windrow_jobfile::environment::{SHORTEST_SECRET, Sealer};
use windrow_model::Time;
use windrow_model::secret::{self, Resealed, SealedSecret, SecretListing, SecretStore};
use windrow_model::store::StoreError;

use crate::app::secrets::seal::{self, ImageSealer, Owner};
use crate::error::{Code, Error, Result};
use crate::node::master_key::{KeySource, MasterKey};

/// No workspace has an empty name.
const IMAGES: Owner<'static> = Owner { workspace: "", name: "images" };

#[derive(Clone)]
pub struct Vault {
    store: Arc<dyn SecretStore>,
    source: KeySource,
}

impl Vault {
    pub fn new(store: Arc<dyn SecretStore>, source: KeySource) -> Self {
        Self { store, source }
    }

    /// True if the name is new.
    pub async fn set(&self, workspace: &str, name: &str, value: &str, actor: &str, now: Time) -> Result<bool> {
        check(name, value)?;
        let key = self.key_to_seal_with().await?;
        let sealed = seal::seal(&key, Owner { workspace, name }, value, actor, now)?;
        Ok(self.store.put_secret(sealed).await?)
    }

    pub async fn list(&self, workspace: &str) -> Result<Vec<SecretListing>> {
        Ok(self.store.secrets(workspace).await?)
    }

    pub async fn delete(&self, workspace: &str, name: &str) -> Result<()> {
        self.store.delete_secret(workspace, name).await.map_err(|error| match error {
            StoreError::NotFound { .. } => {
                let what = format!("secret {name} not found in workspace {workspace}");
                Error::new(what, "list secrets with `windrow secrets list`").coded(Code::NotFound)
            }
            other => other.into(),
        })
    }

    /// For the process that uses it, and nobody else.
    pub async fn value(&self, workspace: &str, name: &str) -> Result<Option<String>> {
        let Some(secret) = self.store.secret(workspace, name).await? else { return Ok(None) };
        seal::open(&self.key_with(&secret.key_id)?, &secret).map(Some)
    }

    /// For what operations record about passwords. It has a key of its own, kept like a secret, so that a change of the
    /// master key leaves what was recorded readable.
    pub async fn image_sealer(&self, now: Time) -> Result<Arc<dyn Sealer>> {
        let parsed =
            |text: String| MasterKey::parse(&text).map(|key| Arc::new(ImageSealer::new(key)) as Arc<dyn Sealer>);
        let broken = || Error::new("the key of recorded passwords is damaged", "restore a backup");
        if let Some(text) = self.value(IMAGES.workspace, IMAGES.name).await? {
            return parsed(text).ok_or_else(broken);
        }
        let (key, text) = (self.key_to_seal_with().await?, STANDARD.encode(MasterKey::generate()?.bytes()));
        self.store.put_secret(seal::seal(&key, IMAGES, &text, "system", now)?).await?;
        // Another process may have been faster.
        let text = self.value(IMAGES.workspace, IMAGES.name).await?.ok_or_else(broken)?;
        parsed(text).ok_or_else(broken)
    }

    /// The key in its place, or the one that a change of it has left beside it and not yet put there.
    fn key_with(&self, id: &str) -> Result<MasterKey> {
        let key = self.source.read()?;
        if let (KeySource::DataFolder(path), false) = (&self.source, key.as_ref().is_some_and(|key| key.id() == id))
            && let Ok(Some(next)) = KeySource::Named(next_to(path)).read()
            && next.id() == id
        {
            return Ok(next);
        }
        key.ok_or_else(|| self.missing(id))
    }

    /// Seals everything under a new key, which is left at `place`. Without a place it becomes the data
    /// folder's own.
    pub async fn rekey(&self, place: Option<&Path>) -> Result<usize> {
        let (target, replaces) = match (place, &self.source) {
            (Some(place), _) => (place.to_owned(), None),
            (None, KeySource::DataFolder(path)) => (next_to(path), Some(path)),
            (None, other) => {
                let what = format!("the master key comes from {}, which windrow cannot change", other.describe());
                return Err(Error::new(what, "pass a file for the new key with --new-key FILE"));
            }
        };
        let old = self.source.read()?;
        let new = MasterKey::generate()?;
        let sealed = self.store.sealed_secrets().await?;
        let resealed: Vec<Resealed> =
            sealed.iter().map(|secret| reseal(old.as_ref(), &new, secret)).collect::<Result<_>>()?;
        let count = resealed.len();
        // The new key is on disk before anything needs it, and takes the old one's place after.
        new.write(&target).map_err(|error| unwritable(&target, &error))?;
        let done = self.store.reseal_secrets(resealed).await;
        if !matches!(done, Ok(true)) {
            let _ = std::fs::remove_file(&target);
            done?;
            return Err(Error::new("a secret was set in the meantime; nothing was changed", "retry"));
        }
        if let Some(path) = replaces {
            std::fs::rename(&target, path).map_err(|error| unwritable(path, &error))?;
        }
        Ok(count)
    }

    async fn key_to_seal_with(&self) -> Result<MasterKey> {
        let used = self.store.secret_keys().await?;
        match self.source.read()? {
            Some(key) => match used.iter().find(|(id, _)| *id != key.id()) {
                None => Ok(key),
                Some((id, count)) => {
                    let what = format!(
                        "{count} secret(s) are encrypted with another master key (id {id}; the id of {} is {})",
                        self.source.describe(),
                        key.id()
                    );
                    Err(Error::new(what, "restore that master key, or delete those secrets first"))
                }
            },
            None if !used.is_empty() => Err(self.missing(&used[0].0)),
            None => self.make_key(),
        }
    }

    fn make_key(&self) -> Result<MasterKey> {
        let Some(path) = self.source.path() else { return Err(self.missing("none")) };
        match MasterKey::generate()?.write(path) {
            Ok(()) => {}
            // Another process made one at the same moment: it is the one.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unwritable(path, &error)),
        }
        self.source.read()?.ok_or_else(|| self.missing("none"))
    }

    fn missing(&self, id: &str) -> Error {
        let what = format!("master key not found: {} (secrets are encrypted with {id})", self.source.describe());
        Error::new(what, "restore it, or set WINDROW_MASTER_KEY or WINDROW_MASTER_KEY_FILE")
    }
}

fn next_to(path: &Path) -> PathBuf {
    path.with_extension("key.next")
}

fn reseal(old: Option<&MasterKey>, new: &MasterKey, secret: &SealedSecret) -> Result<Resealed> {
    let old = old.ok_or_else(|| Error::new("master key not found", "restore it first"))?;
    let owner = Owner { workspace: &secret.workspace, name: &secret.name };
    let value = seal::open(old, secret)?;
    let new = seal::seal(new, owner, &value, &secret.actor, secret.set_at)?;
    Ok(Resealed { old_nonce: secret.nonce.clone(), new })
}

fn check(name: &str, value: &str) -> Result<()> {
    let invalid = |what: String, remedy: String| Err(Error::new(what, remedy).coded(Code::BadRequest));
    if !secret::is_name(name) {
        let remedy = format!("use letters, digits, _ - . and no digit first, at most {} of them", secret::MAX_NAME);
        return invalid(format!("invalid secret name {name:?}"), remedy);
    }
    if value.len() < SHORTEST_SECRET {
        let what = format!("secret is too short (minimum {SHORTEST_SECRET} bytes)");
        return invalid(what, "shorter values cannot be redacted reliably".to_owned());
    }
    if value.len() > secret::MAX_BYTES || value.contains('\0') {
        let remedy = format!("the maximum is {} KiB of text", secret::MAX_BYTES / 1024);
        return invalid("secret is too long, or is not text".to_owned(), remedy);
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    let what = format!("cannot write the master key {}: {error}", path.display());
    Error::new(what, "check the permissions of the directory, and that the file does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;
    use windrow_store::SqliteStore;

    fn vault(folder: &Path) -> Vault {
        let store = Arc::new(SqliteStore::open(&folder.join("windrow.db")).unwrap());
        Vault::new(store, KeySource::DataFolder(folder.join("master.key")))
    }

    async fn set(vault: &Vault, name: &str, value: &str) -> Result<bool> {
        vault.set("team", name, value, "ann", Time(1)).await
    }

    #[tokio::test]
    async fn the_first_secret_makes_the_key_and_a_lost_key_is_not_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        assert!(set(&vault, "A", "long enough").await.unwrap());
        assert_eq!(vault.value("team", "A").await.unwrap().as_deref(), Some("long enough"));
        assert_eq!(vault.value("other", "A").await.unwrap(), None);
        std::fs::remove_file(folder.path().join("master.key")).unwrap();
        for refused in [vault.value("team", "A").await.err(), set(&vault, "B", "long enough").await.err()] {
            assert!(refused.unwrap().render().contains("master key not found"));
        }
        MasterKey::generate().unwrap().write(&folder.path().join("master.key")).unwrap();
        assert!(set(&vault, "B", "long enough").await.unwrap_err().render().contains("another master key"));
    }

    #[tokio::test]
    async fn everything_opens_after_a_change_of_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        set(&vault, "A", "first value").await.unwrap();
        set(&vault, "B", "second value").await.unwrap();
        let before = vault.source.read().unwrap().unwrap().id();
        assert_eq!(vault.rekey(None).await.unwrap(), 2);
        assert_ne!(vault.source.read().unwrap().unwrap().id(), before);
        assert_eq!(vault.value("team", "B").await.unwrap().as_deref(), Some("second value"));
        let next = folder.path().join("master.key.next");
        assert!(!next.exists());
        // As it is in the moment before the new key is put in its place, or after a crash there.
        std::fs::rename(folder.path().join("master.key"), &next).unwrap();
        MasterKey::generate().unwrap().write(&folder.path().join("master.key")).unwrap();
        assert_eq!(vault.value("team", "A").await.unwrap().as_deref(), Some("first value"));
    }

    #[tokio::test]
    async fn what_could_not_be_redacted_or_named_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        assert!(set(&vault, "A", "short").await.is_err());
        assert!(set(&vault, "not a name", "long enough").await.is_err());
        assert!(set(&vault, "A", &"x".repeat(secret::MAX_BYTES + 1)).await.is_err());
        assert!(!folder.path().join("master.key").exists());
    }
}
