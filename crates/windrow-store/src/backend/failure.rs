//! What can go wrong inside a verb: a refusal the port knows, or an error of the database, which becomes
//! one at the border. Only damage is reported as such; after any other error a retry may succeed.

use windrow_model::machine::Forbidden;
use windrow_model::store::StoreError;

use crate::backend;

#[derive(Debug)]
pub(crate) enum StoreFailure {
    Refused(StoreError),
    Database(backend::Error),
}

pub(crate) type Result<T> = std::result::Result<T, StoreFailure>;

impl From<StoreError> for StoreFailure {
    fn from(refusal: StoreError) -> Self {
        StoreFailure::Refused(refusal)
    }
}

impl From<Forbidden> for StoreFailure {
    fn from(refusal: Forbidden) -> Self {
        StoreFailure::Refused(refusal.into())
    }
}

impl From<backend::Error> for StoreFailure {
    fn from(error: backend::Error) -> Self {
        StoreFailure::Database(error)
    }
}

impl From<rusqlite::Error> for StoreFailure {
    fn from(error: rusqlite::Error) -> Self {
        StoreFailure::Database(error.into())
    }
}

impl From<StoreFailure> for StoreError {
    fn from(fault: StoreFailure) -> Self {
        match fault {
            StoreFailure::Refused(refusal) => refusal,
            StoreFailure::Database(error) if error.is_damage() => StoreError::Corrupt(error.to_string()),
            StoreFailure::Database(error) => StoreError::Unavailable(error.to_string()),
        }
    }
}

/// A guarded update must find exactly the rows that were read in the same transaction.
pub(crate) fn expect_rows(changed: usize, expected: usize, what: &str) -> Result<()> {
    if changed == expected {
        return Ok(());
    }
    Err(backend::Error::Miscounted { what: what.to_owned(), expected, changed }.into())
}
