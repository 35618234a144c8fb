//! The tables and how their rows are read: shared by verbs and reads.

pub(crate) mod analytics_marks;
pub(crate) mod attempts;
pub(crate) mod event_numbers;
pub(crate) mod items;
pub(crate) mod jobs;
pub(crate) mod journal;
pub(crate) mod labels;
pub(crate) mod runs;
pub(crate) mod scores;
pub(crate) mod shared;
pub(crate) mod steps;
pub(crate) mod waits;
