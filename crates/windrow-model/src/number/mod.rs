//! Numbers about results: statistics with their intervals, comparisons of two runs, quality gates.

pub mod aggregate;
pub mod compare;
pub mod gate;
pub mod permutation;
pub mod rater;
