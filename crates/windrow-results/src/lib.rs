//! The results of a job as a table: one row per item, derived from the records alone, and one language to filter,
//! sort and group it. Pure: no IO, no clock.
//!
//! - [`row`]: what a row shows, and where it comes from;
//! - [`query`]: names, conditions and orders; [`Condition::holds`] is the specification;
//! - [`cell`]: values for export;
//! - [`cells`]: the state of every cell of an item;
//! - [`label`], [`people`]: what people said, and corrected values;
//! - [`table`]: all rows of a job, with the names that can be asked for;
//! - [`summary`]: metrics, groups, facets and paired differences of a selection.

pub mod cell;
pub mod cells;
pub mod label;
pub mod people;
pub mod query;
pub mod row;
pub mod summary;
pub mod table;

pub use query::{Condition, Kind, Name, Names, Seen, Sort, Value};
pub use row::{ResultRow, RowOutcome};
pub use table::survey::Survey;
pub use table::{Baseline, Table};
