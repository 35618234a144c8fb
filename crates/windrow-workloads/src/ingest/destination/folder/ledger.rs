//! The ledger as files: one entry each, linked into place so that it can be made once only.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use windrow_model::ingest::Entry;

pub struct Ledger {
    root: PathBuf,
}

/// A name for files: readable, and different for different scopes.
pub fn slug(scope: &str) -> String {
    let plain: String = scope.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
    format!("{plain}-{}", &blake3::hash(scope.as_bytes()).to_hex()[..8])
}

impl Ledger {
    pub fn new(folder: &Path) -> Self {
        Self { root: folder.join("_windrow") }
    }

    fn folder(&self, scope: &str) -> PathBuf {
        self.root.join(slug(scope))
    }

    fn entry(&self, scope: &str, version: i64) -> PathBuf {
        self.folder(scope).join(format!("{version:012}.json"))
    }

    fn key(&self, scope: &str, key: &str) -> PathBuf {
        self.folder(scope).join("keys").join(key)
    }

    /// Whether the version or the key is there already, or something between is missing.
    pub fn is_taken(&self, scope: &str, entry: &Entry) -> bool {
        let gap = entry.version > 1 && !self.entry(scope, entry.version - 1).exists();
        gap || self.entry(scope, entry.version).exists() || self.key(scope, &entry.key).exists()
    }

    /// False where somebody was first.
    pub fn append(&self, scope: &str, entry: &Entry) -> io::Result<bool> {
        let folder = self.folder(scope);
        std::fs::create_dir_all(folder.join("keys"))?;
        let mut draft = tempfile(&folder, entry)?;
        draft.0.write_all(serde_json::to_string(entry)?.as_bytes())?;
        draft.0.sync_data()?;
        let linked = std::fs::hard_link(&draft.1, self.entry(scope, entry.version));
        let outcome = match linked {
            Ok(()) => {
                // Lost in a crash, it only means that a page that comes again is not recognised as that.
                let _ = std::fs::hard_link(&draft.1, self.key(scope, &entry.key));
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        };
        std::fs::remove_file(&draft.1)?;
        std::fs::File::open(&folder)?.sync_all()?;
        outcome
    }

    pub fn history(&self, scope: &str, below: Option<i64>, limit: usize) -> io::Result<Vec<Entry>> {
        let files = match std::fs::read_dir(self.folder(scope)) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let version = |name: String| name.strip_suffix(".json").and_then(|version| version.parse::<i64>().ok());
        let mut versions = Vec::new();
        for file in files {
            let found = version(file?.file_name().to_string_lossy().into_owned());
            versions.extend(found.filter(|version| below.is_none_or(|below| *version < below)));
        }
        versions.sort_unstable_by_key(|version| std::cmp::Reverse(*version));
        let read = |version: &i64| Ok(serde_json::from_slice(&std::fs::read(self.entry(scope, *version))?)?);
        versions.iter().take(limit).map(read).collect()
    }
}

/// Two writers never share one.
fn tempfile(folder: &Path, entry: &Entry) -> io::Result<(std::fs::File, PathBuf)> {
    let path = folder.join(format!(".{}-{}-{}", entry.version, std::process::id(), entry.key));
    Ok((std::fs::File::create(&path)?, path))
}
