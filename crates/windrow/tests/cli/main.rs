//! The real binary on a real folder, against an endpoint in this process that counts.

mod appending;
mod boundaries;
mod broken_files;
mod budgets;
mod caching;
mod continuing;
mod datasets;
mod documented;
mod endpoint;
mod interrupting;
mod json_contract;
mod limits;
mod mock_model;
mod mock_model_answers;
mod online;
mod place;
mod providers;
mod quality;
mod reading;
mod reports;
mod rescoring;
mod retrying;
mod scale;
mod sharing;
mod steering;
mod torture;
