//! The real binary on a real folder, against an endpoint in this process that counts.

mod broken_files;
mod client;
mod continuing;
mod datasets;
mod documented;
mod endpoint;
mod interrupting;
mod json_contract;
mod limits;
mod mock_model;
mod mock_model_answers;
mod place;
mod providers;
mod quality;
mod reading;
mod reports;
mod server;
mod server_events;
mod server_life;
mod server_refusals;
mod sharing;
mod steering;
mod torture;
