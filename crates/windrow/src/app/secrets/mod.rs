//! Secrets: encrypted with an AEAD under a master key that is never in the database, decrypted only in the process
//! that uses them, when it does (T9). Values go in and never come out.

mod seal;
mod vault;

use windrow_wire::{SecretList, SecretSet, SecretView};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::Result;

pub use seal::ImageSealer;
pub use vault::Vault;

/// Names of all secrets of a workspace, who set them and when.
pub async fn list(app: &App, actor: &Actor, workspace: Option<&str>) -> Result<SecretList> {
    let listed = app.vault().list(actor.within(workspace)?.home()).await?;
    Ok(SecretList { secrets: listed.iter().map(SecretView::from).collect() })
}

pub async fn set(app: &App, change: &Change, workspace: Option<&str>, name: &str, value: &str) -> Result<SecretSet> {
    let actor = change.actor.within(workspace)?;
    let created = app.vault().set(actor.home(), name, value, &actor.name, app.now()).await?;
    Ok(SecretSet { name: name.to_owned(), workspace: actor.home().to_owned(), created })
}

pub async fn delete(app: &App, change: &Change, workspace: Option<&str>, name: &str) -> Result<()> {
    app.vault().delete(change.actor.within(workspace)?.home(), name).await
}

/// Encrypts all secrets of all workspaces with a new master key; returns how many.
pub async fn rekey(app: &App, change: &Change, new_key: Option<&std::path::Path>) -> Result<usize> {
    change.actor.check_all_workspaces()?;
    app.vault().rekey(new_key).await
}
