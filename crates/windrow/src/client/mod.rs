pub mod api;
pub mod remote;
