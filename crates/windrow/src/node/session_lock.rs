//! Proof of life. A process holds an operating system lock on its session's file from before the
//! session is opened until it ends; the system releases it however the process ends. A process
//! that gets the lock knows that the session is dead and may release its leases at once, without waiting for
//! them to expire.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use windrow_model::SessionId;

/// Held for the whole life of one session.
pub struct SessionLock {
    path: PathBuf,
    _held: File,
}

impl SessionLock {
    pub fn create(folder: &Path, session: SessionId) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = path_of(folder, session);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.lock()?;
        Ok(Self { path, _held: file })
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the session was opened from this folder, and has left its trace there.
pub fn is_of(folder: &Path, session: SessionId) -> bool {
    path_of(folder, session).is_file()
}

/// Whether the session's process is gone. In doubt it lives: then its leases expire by themselves.
pub fn is_dead(folder: &Path, session: SessionId) -> bool {
    let file = match File::open(path_of(folder, session)) {
        Ok(file) => file,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    // Shared, so that two processes asking at the same moment do not take each other for the dead one.
    match file.try_lock_shared() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

/// Clears away what a dead session left. Only after it was buried: the file is its last trace.
pub fn forget(folder: &Path, session: SessionId) {
    let _ = std::fs::remove_file(path_of(folder, session));
}

fn path_of(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!("{session}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use windrow_model::Time;

    #[test]
    fn a_session_is_dead_once_nobody_holds_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::mint(Time(2_000_000_000_000), 7);
        let lock = SessionLock::create(folder.path(), session).unwrap();
        assert!(!is_dead(folder.path(), session));
        // What a SIGKILL leaves: the file, without a lock on it.
        let left_behind = lock.path.clone();
        drop(lock);
        assert!(is_dead(folder.path(), session), "no file, no life");
        File::create(left_behind).unwrap();
        assert!(is_dead(folder.path(), session) && is_dead(folder.path(), session));
    }
}
