//! What a statement can fail with, and which of it may pass by itself.

use rusqlite::ErrorCode;

use super::Cell;

#[derive(Debug)]
pub(crate) enum Error {
    /// One row was asked for, and there is none.
    NoRows,
    /// Not what we wrote there.
    Strange {
        column: usize,
        why: String,
    },
    Sqlite(rusqlite::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether trying again later may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Error::NoRows | Error::Strange { .. } => false,
            Error::Sqlite(error) => is_passing(error),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::NoRows => f.write_str("a row that must be there is missing"),
            Error::Strange { column, why } => write!(f, "column {column}: {why}"),
            Error::Sqlite(error) => error.fmt(f),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Error::Sqlite(error)
    }
}

/// Where no row is an answer.
pub(crate) trait OptionalExtension<T> {
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(Error::NoRows) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl rusqlite::ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::ValueRef;
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(int) => ValueRef::Integer(*int),
            Cell::Real(real) => ValueRef::Real(*real),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Blob(blob) => ValueRef::Blob(blob),
        }))
    }
}

fn is_passing(error: &rusqlite::Error) -> bool {
    use ErrorCode::*;
    let passing = [
        DatabaseBusy,
        DatabaseLocked,
        OutOfMemory,
        ReadOnly,
        OperationInterrupted,
        SystemIoFailure,
        DiskFull,
        CannotOpen,
        FileLockingProtocolFailed,
        SchemaChanged,
        PermissionDenied,
    ];
    error.sqlite_error_code().is_some_and(|code| passing.contains(&code))
}
