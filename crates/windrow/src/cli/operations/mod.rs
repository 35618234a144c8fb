pub mod approve;
pub mod plan;
pub mod rollback;
pub mod targets;
