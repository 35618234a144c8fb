//! Actions written down in the job file: a call that reads the target, one that applies the change and
//! one that takes it back, each an HTTP request or a command, with templates for the target's name and
//! its pre-image.

mod command;
mod config;
mod handler;
mod probe;

pub use config::{CallConfig, read_command, read_http};
pub use handler::{build, irreversible};
pub use probe::{Probe, ProbeConfig};
