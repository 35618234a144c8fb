//! Backups: one at a time, periodic ones, and those of the server: list, make, verify (T13, T19).

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windrow_model::Time;
use windrow_wire::{BackupList, BackupView, Timestamp, VerifiedBackup};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::{Code, Error, Result};
use crate::node::backup::{self, periodic};

const AFTER_A_FAILED_BACKUP: Duration = Duration::from_secs(60);

/// Backups in the server's directory, newest first.
pub async fn list(app: &App, actor: &Actor) -> Result<BackupList> {
    actor.check_all_workspaces()?;
    let dir = app.backups();
    let directory = dir.display().to_string();
    let backups = blocking(move || {
        let mut found = match periodic::found(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            found => found.map_err(|error| unreadable(&dir, &error))?,
        };
        found.reverse();
        found.iter().map(|file| view(file)).collect::<Result<_>>()
    });
    Ok(BackupList { directory, backups: backups.await? })
}

/// Writes a backup into the server's directory, without the master key.
pub async fn make(app: &App, change: &Change) -> Result<BackupView> {
    change.actor.check_all_workspaces()?;
    let dir = app.backups();
    std::fs::create_dir_all(&dir).map_err(|error| unreadable(&dir, &error))?;
    let target = dir.join(periodic::name(&Timestamp::from(app.now()).to_string()));
    app.back_up(target.clone(), None).await?;
    blocking(move || view(&target)).await
}

/// Reads a backup whole and compares it with its manifest.
pub async fn verify(app: &App, change: &Change, name: &str) -> Result<VerifiedBackup> {
    change.actor.check_all_workspaces()?;
    let (dir, name) = (app.backups(), name.to_owned());
    blocking(move || {
        let found = periodic::found(&dir).unwrap_or_default();
        let Some(file) = found.into_iter().find(|file| file.file_name().is_some_and(|found| *found == *name)) else {
            let what = format!("backup {name} not found");
            return Err(Error::new(what, "list them with GET /api/v1/backups").coded(Code::NotFound));
        };
        let manifest = backup::verify(&file).map_err(|error| error.coded(Code::Conflict))?;
        Ok(VerifiedBackup {
            bytes: view(&file)?.bytes,
            name,
            files: manifest.files.len(),
            content_bytes: manifest.bytes(),
            master_key: manifest.has(backup::MASTER_KEY),
            windrow: manifest.windrow,
            made_at: manifest.made_at,
        })
    })
    .await
}

fn view(file: &Path) -> Result<BackupView> {
    let meta = std::fs::metadata(file).map_err(|error| unreadable(file, &error))?;
    let made = meta.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made_at = Time(i64::try_from(made.as_millis()).unwrap_or(i64::MAX)).into();
    Ok(BackupView { name, bytes: meta.len(), made_at })
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("cannot use {}: {error}", path.display()), "check the directory and its permissions")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|panic| Error::new(format!("the backups could not be read: {panic}"), "try again"))?
}

impl App {
    fn backups(&self) -> PathBuf {
        self.backup_dir.clone().unwrap_or_else(|| self.options.data.join("backups"))
    }

    /// Writes a backup, with the master key if its file is given.
    pub async fn back_up(&self, target: PathBuf, key: Option<PathBuf>) -> Result<backup::Made> {
        let (data, database) = (self.data.clone(), self.options.database.clone());
        let made_at = Timestamp::from(self.now()).to_string();
        let write = move || backup::write(&data, database.as_deref(), &target, key.as_deref(), made_at);
        let written = tokio::task::spawn_blocking(write).await;
        written.map_err(|panic| Error::new(format!("the backup failed: {panic}"), "run it again"))?
    }

    /// Writes a backup at every interval and deletes old ones, as long as the server runs.
    pub async fn back_up_periodically(&self, every: Duration, keep: usize) {
        let dir = self.backups();
        loop {
            let wait = std::fs::create_dir_all(&dir).and_then(|()| periodic::wait(&dir, every, SystemTime::now()));
            tokio::time::sleep(*wait.as_ref().unwrap_or(&Duration::ZERO)).await;
            let target = dir.join(periodic::name(&Timestamp::from(self.now()).to_string()));
            let shown = target.display().to_string();
            match self.back_up(target, None).await {
                Ok(made) => {
                    let deleted = periodic::prune(&dir, keep).unwrap_or_else(|error| {
                        tracing::warn!(%error, "failed to delete old backups");
                        0
                    });
                    tracing::info!(file = shown, bytes = made.bytes, deleted, "backup written");
                }
                Err(error) => {
                    tracing::error!(file = shown, error = error.one_line(), "backup failed, retrying");
                    tokio::time::sleep(every.min(AFTER_A_FAILED_BACKUP)).await;
                }
            }
        }
    }
}
