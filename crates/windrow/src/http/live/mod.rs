//! What happens, to whoever watches (E11, E14), from the outbox. The newest events are written as text once
//! and shared by all readers; each reader goes at its own pace by a cursor of its own, from that tail while it
//! keeps up and from the store when it does not. The engine waits for none of them, and none of them holds
//! more than a few events.

pub mod events;
mod reader;
mod tail;
mod written;
pub mod ws;

pub use reader::{Detail, Reader, Whose};
pub use tail::Tail;
