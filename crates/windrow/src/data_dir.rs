//! The folder of the embedded database, and what lies where in it:
//! `windrow.db` (and SQLite's own files beside it), `sessions/<id>.lock` one per living process,
//! `files/` what jobs sent to a server may name,
//! `uploads/` what is being sent to it.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub const DEFAULT: &str = ".windrow";

#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
}

impl DataDir {
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

    pub fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    pub fn uploads(&self) -> PathBuf {
        self.path.join("uploads")
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
