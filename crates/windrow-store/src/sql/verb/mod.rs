//! The verbs that move jobs, runs, items and attempts: what an engine calls.

pub(crate) mod admit;
pub(crate) mod amend;
pub(crate) mod archive;
pub(crate) mod batch;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod close;
pub(crate) mod deferred;
pub(crate) mod ended_attempts;
pub(crate) mod ending;
pub(crate) mod gathered;
pub(crate) mod item_ids;
pub(crate) mod plan;
pub(crate) mod reap;
pub(crate) mod renew;
pub(crate) mod report;
pub(crate) mod request_transition;
pub(crate) mod requeue;
pub(crate) mod rollout;
pub(crate) mod scan_bookmarks;
pub(crate) mod schedules;
pub(crate) mod sessions;
pub(crate) mod step_writes;
pub(crate) mod submit;
pub(crate) mod unblock;
