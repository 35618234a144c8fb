//! gRPC: the code generated from `proto/`, and conversions between its messages and the model's types. Used by the
//! server and by `windrow worker`.

mod bad;
mod item;
mod lease;
mod report;
mod step;
#[cfg(test)]
mod tests;
mod wait;

pub use bad::Bad;
pub use item::Assignment;
pub use lease::required as lease;
pub use report::Told;
pub use step::{key, number as step_number};

/// Generated code.
#[allow(clippy::all)]
pub mod v1 {
    tonic::include_proto!("windrow.v1");
}

/// All messages and services, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windrow.bin"));

/// Maximum message size in both directions.
pub const MAX_MESSAGE: usize = 64 << 20;
