//! The results of a job as a table: one row per item, derived from the records alone, and one language to filter,
//! sort and group it. Pure: no IO, no clock.
//!
//! - [`row`]: what a row shows, and where it comes from;
//! - [`query`]: names, conditions and orders; [`Condition::holds`] is the specification;
//! - [`cell`]: values for export;
//! - [`cells`]: the state of every cell of an item;
//! - [`columns`]: the rows of a job as columns, for jobs of any size;
//! - [`label`], [`people`]: what people said, and corrected values;
//! - [`table`]: the same as plain rows: the specification of `columns`;
//! - [`summary`]: metrics, groups, facets and paired differences of a selection.

pub mod cell;
pub mod cells;
pub mod columns;
pub mod label;
pub mod people;
pub mod query;
pub mod row;
pub mod summary;
pub mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use columns::{Grid, Pairs, Trial};
pub use query::{Condition, Grouping, Kind, Name, Names, Seen, Sort, Value};
pub use row::{ResultRow, RowOutcome};
pub use table::survey::Survey;
pub use table::{Baseline, Table};
