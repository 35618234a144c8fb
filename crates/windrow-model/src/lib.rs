//! The middle of the star: what Windrow's nouns are and which changes they allow.
//!
//! Pure: no IO, no clock, no randomness, no runtime. Time and chance come in as values. The other
//! crates depend on this one and never on each other; they meet at the ports defined here,
//! [`store::Store`], [`dataset::DatasetStore`], [`access::AccessStore`], [`audit::AuditLog`], [`secret::SecretStore`] and
//! [`hook::HookStore`] (the database) and [`workload::Workload`] (what an item of a kind means).

pub mod access;
pub mod aggregate;
pub mod alert;
pub mod audit;
pub mod bell;
pub mod compare;
pub mod counters;
pub mod cron;
pub mod dataset;
pub mod docs;
pub mod event;
pub mod failure;
pub mod gate;
pub mod health;
pub mod hook;
pub mod ids;
pub mod ingest;
pub mod item_query;
pub mod json;
pub mod limit;
pub mod machine;
pub mod metric;
pub mod operation;
pub mod priority;
pub mod record;
pub mod retry;
pub mod rollout;
pub mod secret;
pub mod selection;
pub mod state;
pub mod step;
pub mod store;
pub mod time;
pub mod trace;
pub mod view;
pub mod vocabulary;
pub mod why;
pub mod worker_backend;
pub mod workload;

pub use failure::{ErrorClass, Failure};
pub use ids::{
    AlertId, AttemptId, DatasetId, DatasetVersionId, HookId, ItemId, JobId, KeyId, Lease, RunId, SessionId, StepId,
    Ticket,
};
pub use json::Json;
pub use time::{Clock, Time};
