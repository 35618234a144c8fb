//! What a statement can fail with, and which of it may pass by itself.

use std::error::Error as _;

use postgres::error::SqlState;
use rusqlite::ErrorCode;

use crate::backend::Cell;

/// The last two say that the server has ended the transaction before.
const CONFLICTS: [SqlState; 6] = [
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::UNIQUE_VIOLATION,
    SqlState::LOCK_NOT_AVAILABLE,
    SqlState::IN_FAILED_SQL_TRANSACTION,
    SqlState::NO_ACTIVE_SQL_TRANSACTION,
];

#[derive(Debug)]
pub(crate) enum Error {
    /// One row was asked for, and there is none.
    NoRows,
    /// Not what we wrote there.
    Decode {
        column: usize,
        why: String,
    },
    /// What was read has been changed by another before it was held.
    Overtaken,
    /// The server ended the transaction before it was committed.
    Ended,
    Sqlite(rusqlite::Error),
    Postgres(postgres::Error),
    MySql(mysql::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether trying again later may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Error::NoRows | Error::Decode { .. } => false,
            Error::Sqlite(error) => is_passing(error),
            Error::Overtaken | Error::Ended | Error::Postgres(_) | Error::MySql(_) => {
                self.is_conflict() || self.is_lost() || self.is_refused()
            }
        }
    }

    /// The server does not let us in, which says nothing of what it holds.
    fn is_refused(&self) -> bool {
        match self {
            Error::Postgres(error) => error.code().is_some_and(|code| {
                *code == SqlState::INSUFFICIENT_PRIVILEGE
                    || ["28", "3D"].iter().any(|class| code.code().starts_with(class))
            }),
            Error::MySql(error) => crate::backend::mysql::is_refused(error),
            _ => false,
        }
    }

    /// Somebody else was there first, and the transaction was undone: run again, it sees what they did.
    pub fn is_conflict(&self) -> bool {
        match self {
            Error::Postgres(error) => error.code().is_some_and(|code| CONFLICTS.contains(code)),
            Error::MySql(error) => crate::backend::mysql::is_conflict(error),
            Error::Overtaken | Error::Ended => true,
            _ => false,
        }
    }

    /// The connection or the server is gone.
    pub fn is_lost(&self) -> bool {
        match self {
            // A server that stops, starts, or has no place left says so in these classes.
            Error::Postgres(error) => error
                .code()
                .is_none_or(|code| ["08", "25P03", "57", "53"].iter().any(|class| code.code().starts_with(class))),
            Error::MySql(error) => crate::backend::mysql::is_lost(error),
            _ => false,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::NoRows => f.write_str("a row that must be there is missing"),
            Error::Decode { column, why } => write!(f, "column {column}: {why}"),
            Error::Overtaken => f.write_str("another changed the same rows meanwhile"),
            Error::Ended => f.write_str("the server ended the transaction before it was committed"),
            Error::Sqlite(error) => error.fmt(f),
            Error::Postgres(error) => match error.as_db_error() {
                Some(told) => {
                    write!(f, "{}: {} {}", told.code().code(), told.message(), told.detail().unwrap_or_default())
                }
                None => write!(f, "{error}{}", error.source().map(|why| format!(": {why}")).unwrap_or_default()),
            },
            Error::MySql(mysql::Error::MySqlError(told)) => write!(f, "{}: {}", told.code, told.message),
            Error::MySql(mysql::Error::DriverError(told)) => told.fmt(f),
            Error::MySql(mysql::Error::IoError(told)) => told.fmt(f),
            Error::MySql(mysql::Error::CodecError(told)) => told.fmt(f),
            Error::MySql(error) => error.fmt(f),
        }
    }
}

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        Error::Postgres(error)
    }
}

impl From<mysql::Error> for Error {
    fn from(error: mysql::Error) -> Self {
        Error::MySql(error)
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
            Cell::Ints(_) | Cell::Reals(_) | Cell::Texts(_) | Cell::Blobs(_) => {
                return Err(rusqlite::Error::ToSqlConversionFailure("a file takes no sets".into()));
            }
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
