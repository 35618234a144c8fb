pub mod backup;
pub mod config;
pub mod data_dir;
pub mod doctor;
pub mod listen;
pub mod observe;
pub mod options;
pub mod session_lock;
