//! The databases are asked how they would run the statements of the hot path.

mod every;
mod hot;
mod mysql;
mod postgres;
mod sqlite;
