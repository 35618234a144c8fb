//! Everything beside the walk of an item: access, audit, alerts, secrets, webhooks, datasets, limits, retention.

pub(crate) mod access;
pub(crate) mod alerts;
pub(crate) mod analytics;
pub(crate) mod audit;
pub(crate) mod clean_up;
pub(crate) mod costs;
pub(crate) mod dataset_drop;
pub(crate) mod dataset_import;
pub(crate) mod dataset_read;
pub(crate) mod delete_job;
pub(crate) mod deliveries;
pub(crate) mod examine;
pub(crate) mod fan_out;
pub(crate) mod hooks;
pub(crate) mod limit_accounts;
pub(crate) mod limit_authority;
pub(crate) mod secrets;
pub(crate) mod settle;
