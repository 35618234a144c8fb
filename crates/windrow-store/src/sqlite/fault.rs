//! What can go wrong inside a verb: a refusal the port knows, or an error of SQLite, which becomes
//! one at the border. Only what may pass by itself is reported as unavailable.

use rusqlite::ErrorCode;
use windrow_model::machine::Forbidden;
use windrow_model::store::StoreError;

#[derive(Debug)]
pub(super) enum Fault {
    Refused(StoreError),
    Sqlite(rusqlite::Error),
}

pub(super) type Result<T> = std::result::Result<T, Fault>;

impl From<StoreError> for Fault {
    fn from(refusal: StoreError) -> Self {
        Fault::Refused(refusal)
    }
}

impl From<Forbidden> for Fault {
    fn from(refusal: Forbidden) -> Self {
        Fault::Refused(refusal.into())
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) => refusal,
            Fault::Sqlite(error) if is_passing(&error) => StoreError::Unavailable(error.to_string()),
            Fault::Sqlite(error) => StoreError::Corrupt(error.to_string()),
        }
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

/// A guarded update must find exactly the rows that were read in the same transaction.
pub(super) fn expect_rows(changed: usize, expected: usize, what: &str) -> Result<()> {
    if changed == expected {
        return Ok(());
    }
    Err(StoreError::Corrupt(format!("{what}: {expected} row(s) should have changed, {changed} did")).into())
}
