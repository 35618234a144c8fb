pub mod add;
pub mod delete;
pub mod diff;
pub mod export;
pub mod import;
pub mod list;
pub mod show;
