//! The nouns of ingest, in addition to the kernel's: what a slice is, the position of a pass over it, and what one
//! batch did. A plan is a job, a slice and its task an item, a task run an attempt, a batch a step; the
//! five machines (I1) are views over those ([`crate::view::ingest`]).

mod batch;
mod checkpoint;
mod ledger;
mod slice;
mod stats;
mod type_change;

pub use batch::{BatchIntent, BatchRecord};
pub use checkpoint::{Checkpoint, Resume, resume};
pub use ledger::{Cause, Entry};
pub use slice::{Origin, Slice, Span};
pub use stats::Stats;
pub use type_change::{TypeAction, TypeChange};
