//! What every kind of job has in common: how a job file becomes a frozen definition, its templates and
//! secrets, datasets, prices, and the HTTP client.
//!
//! The kinds themselves are crates of their own that know this one; a caller hands the ones it has to
//! [`job_file::load_with`].

pub mod canonical;
pub mod dataset;
pub mod diagnostics;
pub mod duration;
pub mod environment;
pub mod forbidden;
pub mod http_client;
pub mod job_file;
pub mod prices;
pub mod resolved_refs;
pub mod size;
pub mod spec;
pub mod template;
pub mod templated;
pub mod yaml;

pub use diagnostics::{Problem, Report};
pub use environment::Environment;
pub use job_file::LoadedJob;
