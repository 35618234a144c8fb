//! HTTP as every target that calls something uses it: one client, and so one connection pool, per
//! program; bounded bodies; errors classified with the raw answer kept; no secret in what is recorded.

mod body;
mod client;
pub mod failure;
mod frames;
mod request;
mod retry_after;
mod secret;
mod span;

pub use body::{read_body, read_bytes};
pub use client::{client, is_loopback, web_url};
pub use frames::{Frames, Framing};
pub use request::Request;
pub use secret::Secret;
pub use span::{TRACEPARENT, current_shown, current_span, showing, within};

use std::time::Instant;

/// Whole milliseconds since then.
pub fn ms_since(started: Instant) -> i64 {
    i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX)
}
