//! The real binary on a real folder, against an endpoint in this process that counts.

mod broken_files;
mod continuing;
mod datasets;
mod endpoint;
mod interrupting;
mod json_contract;
mod place;
mod reading;
mod sharing;
mod steering;
mod torture;
