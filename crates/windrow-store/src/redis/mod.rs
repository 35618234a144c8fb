//! Redis, which makes what nodes share faster and holds nothing that lasts. Losing it at any moment costs a few
//! seconds and some speed.

mod accounts;
mod bell;
mod limits;
mod link;

pub use bell::RedisBell;
pub use limits::RedisLimits;
pub use link::Link;
