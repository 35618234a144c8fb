//! One config file for everything. Its settings are the flags themselves: every global flag is a key at
//! the top, every flag of a command in [`SECTIONS`] a key in the table of that name. Whoever adds a flag
//! adds the setting and its `WINDROW_` variable with it.
//!
//! A flag comes before a variable, a variable before the file, the file before the default: what the
//! file says becomes the default of the flag.

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
