pub mod connect;
pub mod model;
pub mod source;
