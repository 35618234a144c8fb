//! Everything in one file, written while work continues (T13): the database as it was at one moment, the job files, and
//! a manifest with the hash of each. A shared database is copied into a file, row by row, and compared. A backup is
//! verified after it is written and before it is restored.

mod manifest;
pub mod periodic;
mod unpack;
mod write;

pub use manifest::Manifest;
pub use unpack::{unpack, verify};
pub use write::{Made, write};

/// Names inside the archive.
const DATABASE: &str = "windrow.db";
/// Folders of files that jobs may name: of the default workspace, and of all others.
pub const FOLDERS: &[&str] = &["files", "workspaces"];
pub const MASTER_KEY: &str = "master.key";
const MANIFEST: &str = "manifest.json";
