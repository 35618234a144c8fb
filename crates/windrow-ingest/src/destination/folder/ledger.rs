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
                // Lost in a crash, it is made up for by whoever goes on.
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

    /// The newest entry. Its key is put in place where a crash came between the two, so that the page is
    /// recognised should the source lead back to it.
    pub fn last(&self, scope: &str) -> io::Result<Option<Entry>> {
        let Some(newest) = self.history(scope, None, 1)?.pop() else { return Ok(None) };
        match std::fs::hard_link(self.entry(scope, newest.version), self.key(scope, &newest.key)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Some(newest)),
        }
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

#[cfg(test)]
mod tests {
    use windrow_model::ingest::{Cause, Checkpoint};
    use windrow_model::{RunId, Time};

    use super::*;

    fn entry(version: i64, key: &str) -> Entry {
        let checkpoint = Checkpoint {
            pass: RunId(1),
            begun_at: Time(0),
            position: None,
            since: None,
            high: None,
            batches: version,
            rejected: 0,
            era: 0,
            done: false,
        };
        let (key, actor) = (key.to_owned(), "1.1".to_owned());
        Entry { version, key, cause: Cause::Batch, actor, checkpoint, records: 0, at: Time(0) }
    }

    #[test]
    fn a_page_is_recognised_also_where_a_crash_kept_its_key_from_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(folder.path());
        assert!(ledger.append("s", &entry(1, "a")).unwrap());
        assert!(!ledger.append("s", &entry(1, "b")).unwrap(), "the version is taken");
        std::fs::remove_file(ledger.key("s", "a")).unwrap();
        assert!(!ledger.is_taken("s", &entry(2, "a")), "as a crash leaves it");
        assert_eq!(ledger.last("s").unwrap().unwrap().key, "a");
        assert!(ledger.is_taken("s", &entry(2, "a")));
        assert!(!ledger.is_taken("s", &entry(2, "b")) && ledger.is_taken("s", &entry(3, "b")));
    }
}
