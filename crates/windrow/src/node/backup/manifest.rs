//! The last entry of a backup: what all the others are.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Of the archive's layout. A newer one is refused.
const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// Version of the program that made it.
    pub windrow: String,
    /// RFC 3339.
    pub made_at: String,
    /// In the order of the archive.
    pub files: Vec<Listed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub path: String,
    pub bytes: u64,
    pub blake3: String,
}

impl Manifest {
    pub fn new(made_at: String) -> Self {
        Self { format: FORMAT, windrow: env!("CARGO_PKG_VERSION").to_owned(), made_at, files: Vec::new() }
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Whether what was read is what was written.
    pub fn fits(&self, read: &[Listed]) -> Result<()> {
        if self.format > FORMAT {
            return Err(Error::new("the backup is from a newer version of windrow", "restore it with that version"));
        }
        match self.files == read {
            true => Ok(()),
            false => Err(broken("its files do not match its manifest")),
        }
    }
}

pub fn broken(why: impl std::fmt::Display) -> Error {
    Error::new(format!("invalid backup: {why}"), "nothing was changed; use another backup")
}
