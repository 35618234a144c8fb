//! One config file. Its settings are the flags: every global flag is a key at the top, every flag of a command in
//! [`SECTIONS`] a key in the table of that name. A new flag is a new setting with a `WINDROW_` variable.
//!
//! Flags override variables, variables the file, the file the defaults: a setting becomes the default of its flag.

pub mod file;
mod setting;
mod settle;

pub use file::ConfigFile;
pub use setting::{Setting, settings};
pub use settle::settled;

/// Commands whose flags are settings.
pub const SECTIONS: &[&str] = &["serve"];
/// Looked for where none is named.
pub const USUAL: &str = "windrow.toml";
pub const VARIABLE: &str = "WINDROW_CONFIG";
