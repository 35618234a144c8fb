//! Backups: one at a time, and periodic ones (T13, T19).

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use windrow_wire::Timestamp;

use crate::app::App;
use crate::error::{Error, Result};
use crate::node::backup::{self, periodic};

const AFTER_A_FAILED_BACKUP: Duration = Duration::from_secs(60);

impl App {
    /// Writes a backup, with the master key if its file is given.
    pub async fn back_up(&self, target: PathBuf, key: Option<PathBuf>) -> Result<backup::Made> {
        let (data, database) = (self.data.clone(), self.options.database.clone());
        let made_at = Timestamp::from(self.now()).to_string();
        let write = move || backup::write(&data, database.as_deref(), &target, key.as_deref(), made_at);
        let written = tokio::task::spawn_blocking(write).await;
        written.map_err(|panic| Error::new(format!("the backup failed: {panic}"), "run it again"))?
    }

    /// Writes a backup at every interval and deletes old ones, as long as the server runs.
    pub async fn back_up_periodically(&self, dir: PathBuf, every: Duration, keep: usize) {
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
