//! Runs one item: turn by turn the person speaks, the target answers, and the evaluators judge; or column by column.

mod columns;
mod item;
mod judging;
mod user_simulator;

pub mod program;
