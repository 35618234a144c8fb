//! Live events (E11, E14), from the outbox. The newest events are serialised once and shared by all readers. Each reader
//! has its own cursor and reads from that tail while it keeps up, from the store when it does not. The engine waits for
//! no reader, and no reader holds more than a few events.

pub mod events;
mod reader;
pub mod texts;
pub mod ws;

pub use reader::{Detail, Reader, Whose};
