//! The folder of the embedded database, and what lies where in it:
//! `windrow.db` (and SQLite's own files beside it), `sessions/<id>.lock` one per living process,
//! `files/` what jobs sent to a server may name, and `workspaces/<name>/files/` the same for every other
//! workspace than the default one, `uploads/` what is being sent to it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windrow_model::access::DEFAULT_WORKSPACE;

use crate::error::{Error, Result};

pub const DEFAULT: &str = ".windrow";
/// An upload that has not grown for so long is nobody's.
const FORSAKEN: Duration = Duration::from_secs(86_400);

#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
}

impl DataDir {
    /// Whatever is there, or not.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The folder as earlier runs left it; reading commands never make one.
    pub fn existing(path: &Path) -> Result<Self> {
        let dir = Self { path: path.to_owned() };
        if dir.database().is_file() {
            return Ok(dir);
        }
        Err(Error::new(
            format!("there is no Windrow data in {}", path.display()),
            "run a job here first (`windrow run FILE`), or name the folder with `--data DIR`",
        ))
    }

    pub fn create(path: &Path) -> Result<Self> {
        let dir = Self { path: path.to_owned() };
        dir.lay_out().map_err(|error| {
            Error::new(
                format!("the data folder {} cannot be made: {error}", path.display()),
                "choose a folder that may be written with `--data DIR`",
            )
        })?;
        Ok(dir)
    }

    fn lay_out(&self) -> io::Result<()> {
        if self.sessions().is_dir() {
            return Ok(());
        }
        std::fs::create_dir_all(self.sessions())?;
        // The folder usually lies in somebody's repository, where it should not be committed.
        std::fs::write(self.path.join(".gitignore"), "*\n")
    }

    pub fn database(&self) -> PathBuf {
        self.path.join("windrow.db")
    }

    pub fn sessions(&self) -> PathBuf {
        self.path.join("sessions")
    }

    pub fn files(&self, workspace: &str) -> PathBuf {
        match workspace {
            DEFAULT_WORKSPACE => self.path.join("files"),
            other => self.path.join("workspaces").join(folder_name(other)).join("files"),
        }
    }

    pub fn uploads(&self) -> PathBuf {
        self.path.join("uploads")
    }

    /// Deletes what a process that was killed had begun to receive. Nobody writes to it any more after so long;
    /// what is younger may be another server's on the same folder.
    pub fn clear_uploads(&self, now: SystemTime) -> io::Result<usize> {
        let found = match std::fs::read_dir(self.uploads()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            found => found?,
        };
        let mut cleared = 0;
        for file in found {
            let file = file?;
            let age = now.duration_since(file.metadata()?.modified()?).unwrap_or_default();
            if age > FORSAKEN {
                std::fs::remove_file(file.path())?;
                cleared += 1;
            }
        }
        Ok(cleared)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A name that leads nowhere else, whatever the workspace is called.
fn folder_name(workspace: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let written = workspace.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    });
    written.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_that_nobody_writes_to_are_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir { path: folder.path().to_owned() };
        let now = SystemTime::now();
        assert_eq!(dir.clear_uploads(now).unwrap(), 0, "there is no such folder yet");
        std::fs::create_dir(dir.uploads()).unwrap();
        std::fs::write(dir.uploads().join("arriving"), "").unwrap();
        let forsaken = std::fs::File::create(dir.uploads().join("forsaken")).unwrap();
        forsaken.set_modified(now - 2 * FORSAKEN).unwrap();
        assert_eq!(dir.clear_uploads(now).unwrap(), 1);
        assert!(dir.uploads().join("arriving").exists() && !dir.uploads().join("forsaken").exists());
    }

    #[test]
    fn no_workspace_leads_into_the_files_of_another() {
        let dir = DataDir { path: PathBuf::from("d") };
        assert_eq!(dir.files("default"), Path::new("d/files"));
        assert_eq!(dir.files("team-b"), Path::new("d/workspaces/team-b/files"));
        assert_eq!(dir.files("../x/.."), Path::new("d/workspaces/%2e%2e%2fx%2f%2e%2e/files"));
        assert_ne!(dir.files("a%2fb"), dir.files("a/b"));
    }
}
