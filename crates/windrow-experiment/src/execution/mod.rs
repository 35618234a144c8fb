//! Runs one item: turn by turn the person speaks, the target answers, and the evaluators judge.

mod user_simulator;

pub mod program;
