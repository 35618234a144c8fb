//! The data directory: `windrow.db` (and SQLite's own files), `sessions/<id>.lock` per live process, `files/` for jobs
//! sent to a server (`workspaces/<name>/files/` for workspaces other than the default), `uploads/` for running uploads,
//! `tables/` for result tables, which may be deleted at any time.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windrow_model::access::DEFAULT_WORKSPACE;

use crate::error::{Error, Result};

pub const DEFAULT: &str = ".windrow";
const DATABASE: &str = "windrow.db";
/// The database after `migrate-store`.
const MOVED: &str = "windrow.db.moved";
/// An upload that has not grown for so long was abandoned.
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

    /// The directory of the current one or of the nearest parent that has one, as `git` does; otherwise `.windrow` here.
    /// Directories of other users are ignored.
    pub fn find(from: &Path) -> PathBuf {
        let own =
            |dir: &Path| std::fs::metadata(dir).is_ok_and(|found| found.uid() == rustix::process::getuid().as_raw());
        let holds = |dir: &Path| (dir.join(DATABASE).is_file() || dir.join(MOVED).is_file()) && own(dir);
        let found = from.ancestors().skip(1).map(|folder| folder.join(DEFAULT)).find(|dir| holds(dir));
        match found {
            Some(dir) if !from.join(DEFAULT).join(DATABASE).is_file() => dir,
            _ => PathBuf::from(DEFAULT),
        }
    }

    /// An existing directory; commands that read never create one.
    pub fn existing(path: &Path) -> Result<Self> {
        let dir = Self { path: path.to_owned() };
        dir.refuse_moved()?;
        if dir.database().is_file() {
            return Ok(dir);
        }
        Err(Error::new(
            format!("no data directory at {}", path.display()),
            "run a job first (`windrow run FILE`) or pass `--data DIR`",
        ))
    }

    /// Whether `create` would lay out a new directory.
    pub fn is_new(path: &Path) -> bool {
        !Self::at(path).sessions().is_dir()
    }

    /// `migrate-store` renames the database, so that no job continues on the old copy.
    pub fn refuse_moved(&self) -> Result<()> {
        let moved = self.path.join(MOVED);
        if !moved.is_file() || self.database().is_file() {
            return Ok(());
        }
        let what = format!("the data of {} was moved to a shared database", self.path.display());
        let remedy = format!("pass its URL with `--database URL`, or rename {} to {DATABASE}", moved.display());
        Err(Error::new(what, remedy))
    }

    pub fn create(path: &Path) -> Result<Self> {
        let dir = Self { path: path.to_owned() };
        dir.lay_out().map_err(|error| {
            Error::new(
                format!("cannot create the data directory {}: {error}", path.display()),
                "choose a writable directory with `--data DIR`",
            )
        })?;
        Ok(dir)
    }

    fn lay_out(&self) -> io::Result<()> {
        if self.sessions().is_dir() {
            return Ok(());
        }
        std::fs::create_dir_all(self.sessions())?;
        // The directory is often inside a repository, where it must not be committed.
        std::fs::write(self.path.join(".gitignore"), "*\n")
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
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

    pub fn tables(&self) -> PathBuf {
        self.path.join("tables")
    }

    /// Deletes uploads of killed processes. Younger files may belong to another server on the same directory.
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
        assert_eq!(dir.clear_uploads(now).unwrap(), 0, "the folder does not exist yet");
        std::fs::create_dir(dir.uploads()).unwrap();
        std::fs::write(dir.uploads().join("arriving"), "").unwrap();
        let forsaken = std::fs::File::create(dir.uploads().join("forsaken")).unwrap();
        forsaken.set_modified(now - 2 * FORSAKEN).unwrap();
        assert_eq!(dir.clear_uploads(now).unwrap(), 1);
        assert!(dir.uploads().join("arriving").exists() && !dir.uploads().join("forsaken").exists());
    }

    #[test]
    fn the_nearest_parent_with_data_is_used() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(DataDir::find(&deep), Path::new(DEFAULT));
        let data = root.path().join(DEFAULT);
        std::fs::create_dir(&data).unwrap();
        assert_eq!(DataDir::find(&deep), Path::new(DEFAULT), "an empty directory holds no data");
        std::fs::write(data.join(DATABASE), "").unwrap();
        assert_eq!(DataDir::find(&deep), data);
        assert_eq!(DataDir::find(root.path()), Path::new(DEFAULT));
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
