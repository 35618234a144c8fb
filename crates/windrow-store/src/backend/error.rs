//! Errors of a statement, and what to do about them. Only damage is final. An error code that is not known here says
//! nothing about the data: the transaction is run again.

use std::error::Error as _;

use postgres::error::SqlState;
use rusqlite::ErrorCode;

use crate::backend::Cell;

/// The last four say that the statement was cancelled or that a lock took too long, and that the server has ended
/// the transaction before.
const CONFLICTS: [SqlState; 7] = [
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::UNIQUE_VIOLATION,
    SqlState::QUERY_CANCELED,
    SqlState::LOCK_NOT_AVAILABLE,
    SqlState::IN_FAILED_SQL_TRANSACTION,
    SqlState::NO_ACTIVE_SQL_TRANSACTION,
];

#[derive(Debug)]
pub(crate) enum Error {
    /// A row was expected, and none was found.
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
    /// An update changed another number of rows than were read before. MariaDB can answer a killed update as if it had
    /// found no row, so it is run again before it counts as damage.
    Miscounted {
        what: String,
        expected: usize,
        changed: usize,
    },
    Sqlite(rusqlite::Error),
    Postgres(postgres::Error),
    MySql(mysql::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The data is not what was written.
    pub fn is_damage(&self) -> bool {
        match self {
            Error::NoRows | Error::Decode { .. } | Error::Miscounted { .. } => true,
            Error::Sqlite(error) => {
                let damaged = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
                // Without a code, the driver could not read a value.
                error.sqlite_error_code().is_none_or(|code| damaged.contains(&code))
            }
            Error::Overtaken | Error::Ended | Error::Postgres(_) | Error::MySql(_) => false,
        }
    }

    /// The server rejects the login or the privileges.
    pub fn is_refused(&self) -> bool {
        match self {
            Error::Postgres(error) => error.code().is_some_and(|code| {
                *code == SqlState::INSUFFICIENT_PRIVILEGE
                    || ["28", "3D"].iter().any(|class| code.code().starts_with(class))
            }),
            Error::MySql(error) => crate::backend::mysql::is_refused(error),
            _ => false,
        }
    }

    /// MySQL and MariaDB: the database that the URL names does not exist yet.
    pub fn is_unknown_database(&self) -> bool {
        matches!(self, Error::MySql(mysql::Error::MySqlError(told)) if told.code == 1049)
    }

    /// Another transaction was first, and this one was undone: run again, it sees the other's changes.
    pub fn is_conflict(&self) -> bool {
        match self {
            Error::Postgres(error) => error.code().is_some_and(|code| CONFLICTS.contains(code)),
            Error::MySql(error) => crate::backend::mysql::is_conflict(error),
            Error::Overtaken | Error::Ended => true,
            _ => false,
        }
    }

    /// The statement was killed, or it took too long. Unlike a conflict, this says nothing about a commit.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Error::MySql(error) if crate::backend::mysql::is_interrupted(error))
    }

    /// The connection or the server is gone.
    pub fn is_lost(&self) -> bool {
        match self {
            // A server that stops, starts or has no connection left says so in these classes. The last two are
            // timeouts that close the connection.
            Error::Postgres(error) => error.code().is_none_or(|code| {
                let lost = ["08", "57P", "53", "25P03", "25P04"];
                lost.iter().any(|class| code.code().starts_with(class))
            }),
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
            Error::Miscounted { what, expected, changed } => {
                write!(f, "{what}: {expected} row(s) should have changed, {changed} did")
            }
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

#[cfg(test)]
mod tests {
    use windrow_model::store::StoreError;

    use super::*;
    use crate::backend::failure::StoreFailure;

    fn of_mysql(code: u16) -> Error {
        let (state, message) = ("HY000".to_owned(), "An error occurred in multi-table update".to_owned());
        Error::MySql(mysql::Error::MySqlError(mysql::error::MySqlError { state, message, code }))
    }

    fn of_sqlite(code: i32) -> Error {
        Error::Sqlite(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
    }

    #[test]
    fn an_unknown_error_code_is_not_damage() {
        for error in [of_mysql(1105), of_mysql(9999), of_sqlite(rusqlite::ffi::SQLITE_ERROR)] {
            assert!(!error.is_damage() && !error.is_conflict() && !error.is_lost(), "{error}");
            assert!(matches!(StoreFailure::from(error).into(), StoreError::Unavailable(_)));
        }
    }

    #[test]
    fn a_corrupt_file_and_an_unreadable_value_are_damage() {
        let unreadable = Error::Decode { column: 0, why: "not a number".into() };
        for error in [of_sqlite(rusqlite::ffi::SQLITE_CORRUPT), of_sqlite(rusqlite::ffi::SQLITE_NOTADB), unreadable] {
            assert!(error.is_damage(), "{error}");
            assert!(matches!(StoreFailure::from(error).into(), StoreError::Corrupt(_)));
        }
    }

    #[test]
    fn a_killed_query_is_run_again_on_the_same_connection() {
        let killed = of_mysql(1317);
        assert!(killed.is_interrupted() && !killed.is_lost() && !killed.is_conflict());
    }
}
