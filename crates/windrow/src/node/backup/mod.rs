//! Everything in one file, made while the rest goes on (T13): the database as it was at one moment, the
//! files beside it, and a manifest with the hash of each. A backup is verified after it is written and
//! before it is restored; half a backup is no backup.

mod manifest;
mod unpack;
mod write;

pub use manifest::Manifest;
pub use unpack::unpack;
pub use write::write;

/// Names inside the archive.
const DATABASE: &str = "windrow.db";
/// Folders of files that jobs may name: of the default workspace, and of all others.
const FOLDERS: &[&str] = &["files", "workspaces"];
const MASTER_KEY: &str = "master.key";
const MANIFEST: &str = "manifest.json";
