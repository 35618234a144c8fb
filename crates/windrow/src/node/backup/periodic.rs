//! Backups at intervals (T19): when the next is due, what it is called, and which old ones are deleted. The files
//! themselves are the state, so that a restart neither skips a backup nor makes one too many.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const PREFIX: &str = "windrow-";
const SUFFIX: &str = ".tar.zst";

/// `windrow-20261118T060000Z.tar.zst`: in the order of their names they are in the order of time.
pub fn name(made_at: &str) -> String {
    let digits: String = made_at.chars().take_while(|c| *c != '.').filter(char::is_ascii_alphanumeric).collect();
    format!("{PREFIX}{}Z{SUFFIX}", digits.trim_end_matches('Z'))
}

/// Backups in the directory, oldest first.
pub fn found(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let time = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
        time.is_some_and(|time| time.len() == "20261118T060000Z".len() && time.ends_with('Z'))
    };
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    found.retain(is_ours);
    found.sort_unstable();
    Ok(found)
}

/// How long to wait for the next backup.
pub fn wait(dir: &Path, every: Duration, now: SystemTime) -> io::Result<Duration> {
    let Some(newest) = found(dir)?.pop() else { return Ok(Duration::ZERO) };
    let age = now.duration_since(std::fs::metadata(newest)?.modified()?).unwrap_or_default();
    Ok(every.saturating_sub(age))
}

/// Deletes all but the newest. Returns how many.
pub fn prune(dir: &Path, keep: usize) -> io::Result<usize> {
    let mut old = found(dir)?;
    old.truncate(old.len().saturating_sub(keep));
    old.iter().try_for_each(std::fs::remove_file)?;
    Ok(old.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        assert_eq!(wait(dir, Duration::from_secs(60), SystemTime::now()).unwrap(), Duration::ZERO, "none yet");
        for day in 1..=5 {
            std::fs::write(dir.join(name(&format!("2026-11-0{day}T06:00:00.123Z"))), "").unwrap();
        }
        for other in ["windrow-monday.tar.zst", "windrow.db", "windrow-20261101T060000Z.tar.zst.part"] {
            std::fs::write(dir.join(other), "").unwrap();
        }
        assert_eq!((prune(dir, 2).unwrap(), prune(dir, 2).unwrap()), (3, 0));
        let left: Vec<_> = found(dir).unwrap().iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        assert_eq!(left, ["windrow-20261104T060000Z.tar.zst", "windrow-20261105T060000Z.tar.zst"]);
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), 5);
        let soon = wait(dir, Duration::from_secs(60), SystemTime::now()).unwrap();
        assert!(soon > Duration::from_secs(50) && soon <= Duration::from_secs(60), "{soon:?}");
    }
}
