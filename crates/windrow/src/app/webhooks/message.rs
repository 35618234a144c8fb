//! The body of a delivery. It is made of what is stored alone, so that every try has the same.

use serde::Serialize;
use windrow_model::{Json, Time};
use windrow_wire::Timestamp;

#[derive(Serialize)]
struct Message<'a> {
    r#type: &'a str,
    /// When it happened; when it was sent is in the headers.
    timestamp: Timestamp,
    data: &'a Json,
}

pub fn body(topic: &str, at: Time, data: &Json) -> String {
    let message = Message { r#type: topic, timestamp: at.into(), data };
    serde_json::to_string(&message).expect("a message serialises to JSON")
}
