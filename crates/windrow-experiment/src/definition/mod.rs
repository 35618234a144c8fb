//! An experiment's frozen definition, and what its parts can be asked before anything runs. Knows no target and no
//! evaluator.

pub mod columns;
pub mod component;
pub mod conversation;
pub mod message;
mod named;
pub mod placement;
pub mod spec;
pub mod trials;
