//! What an item of each kind means: how a job file becomes a frozen definition, how its source is
//! paged, and how one item is done step by step.
//!
//! The engine sees only the ports of `windrow-model`; the CLI enters through [`job_file::load`] and
//! [`workloads`]. A kind is added in one place, [`kind`].

pub mod canonical;
pub mod dataset;
pub mod duration;
pub mod environment;
pub mod experiment;
pub mod forbidden;
pub mod ingest;
pub mod job_file;
pub mod kind;
pub(crate) mod known;
pub mod operation;
pub mod prices;
pub mod report;
pub mod size;
pub mod template;
pub(crate) mod templated;
pub(crate) mod wire;

pub use environment::Environment;
pub use job_file::LoadedJob;
pub use kind::{workloads, workloads_of_worker};
pub use report::{Problem, Report};
