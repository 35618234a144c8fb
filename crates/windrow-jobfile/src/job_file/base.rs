//! Where a job file comes from: what its paths are relative to and how far they may lead, the workspace of one
//! that names none, and how much of its dataset is read before it is accepted.

use std::path::{Path, PathBuf};

use windrow_model::access::DEFAULT_WORKSPACE;

#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    pub folder: &'a Path,
    /// Datasets must lie below the folder: the sender of the file may not know the machine.
    pub closed: bool,
    /// Of a file that names none.
    pub workspace: &'a str,
    pub depth: Depth,
    /// Name and version of the rows that stand in for the file a dataset is in: they were sent from there.
    pub rows: Option<(&'a str, i64)>,
}

/// How much of a dataset is read before a job is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every row: the caller waits for the answer, and wants all errors.
    Whole,
    /// The first rows, as many as take no time: the others are read while the run continues.
    First,
}

impl<'a> Base<'a> {
    /// The folder of a job file on disk, from which every path is open.
    pub fn of_file(file: &'a Path) -> Self {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self { folder, closed: false, workspace: DEFAULT_WORKSPACE, depth: Depth::Whole, rows: None }
    }

    /// The path to open from anywhere; `None` where it leads out of a closed folder. What does not
    /// exist is judged by its text, so that the answer tells nothing about the rest of the disk.
    pub fn locate(&self, given: &str) -> Option<PathBuf> {
        let folder = self.folder.canonicalize().or_else(|_| std::path::absolute(self.folder));
        let folder = folder.unwrap_or_else(|_| self.folder.to_owned());
        // Collecting the parts drops every `.`, so that `./rows.jsonl` and `rows.jsonl` are one spec.
        let path: PathBuf = folder.join(given).components().collect();
        if !self.closed {
            return Some(path);
        }
        let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        (!climbs && path.starts_with(&folder) && real.starts_with(&folder)).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_folder_is_not_left_by_any_way() {
        let disk = tempfile::tempdir().unwrap();
        let folder = disk.path().join("files");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("rows.jsonl"), "{}").unwrap();
        std::fs::write(disk.path().join("secret"), "{}").unwrap();
        std::os::unix::fs::symlink(disk.path().join("secret"), folder.join("link")).unwrap();
        let closed =
            Base { folder: &folder, closed: true, workspace: DEFAULT_WORKSPACE, depth: Depth::Whole, rows: None };
        for inside in ["rows.jsonl", "./rows.jsonl", "not/yet/there.csv"] {
            assert!(closed.locate(inside).is_some(), "{inside}");
        }
        for outside in ["../secret", "/etc/passwd", "link", "sub/../../secret", "/nowhere"] {
            assert_eq!(closed.locate(outside), None, "{outside}");
            assert!(Base { closed: false, ..closed }.locate(outside).is_some(), "{outside}");
        }
    }
}
