//! What Windrow's nouns are, which changes they allow, and the ports at which the other crates meet.
//!
//! Pure: no IO, no clock, no randomness, no runtime. Time and chance come in as values. Store, engine and workloads
//! depend on this crate and not on each other.
//!
//! - the nouns: `ids`, `state` (their state machines), `record` (their rows), `step`, `failure`, `event`;
//! - [`rule`]: decisions, such as when to retry and which run comes first;
//! - [`number`]: statistics, comparisons and quality gates;
//! - [`view`]: the public statuses, derived from states;
//! - [`port`]: the traits that the database ([`store::Store`]) and the kinds of jobs ([`workload::Workload`]) implement.

pub mod balance;
pub mod counters;
pub mod error;
pub mod event;
pub mod failure;
pub mod ids;
pub mod ingest;
pub mod item_query;
pub mod json;
pub mod label;
pub mod label_filter;
pub mod machine;
pub mod number;
pub mod operation;
pub mod port;
pub mod record;
pub mod rule;
pub mod state;
pub mod step;
pub mod suggest;
pub mod syntax_error;
pub mod time;
pub mod view;
pub mod vocabulary;

pub use failure::{ErrorClass, Failure};
pub use ids::{
    AlertId, AttemptId, DatasetId, DatasetVersionId, HookId, ItemId, JobId, KeyId, Lease, RunId, SessionId, StepId,
    Ticket,
};
pub use json::Json;
pub use number::{aggregate, compare, gate};
pub use port::{
    access, alert, analytics, audit, bell, dataset, hook, metric, secret, store, trace, worker_backend, workload,
};
pub use rule::{cron, first_calls, health, limit, priority, retry, rollout, selection, why};
pub use syntax_error::SyntaxError;
pub use time::{Clock, Time};
