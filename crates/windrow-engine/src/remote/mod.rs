//! Workers elsewhere, as the server sees them. They meet the walk at two places: items are claimed for
//! their session out of the runs coordinated here (step 4), and what they report goes to the store as
//! it is (step 7). Nothing about them is kept in memory, so they outlive a restart of the server.

mod begin;
mod offer;
mod report;
mod silence;
mod starved;
#[cfg(test)]
mod tests;

pub use begin::Begun;
pub use offer::Offer;
pub use report::{Refused, Said, Word};
pub use silence::bury_silent;
