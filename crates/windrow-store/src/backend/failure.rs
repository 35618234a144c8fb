//! What can go wrong inside a verb: a refusal the port knows, or an error of the database, which becomes
//! one at the border. Only what may pass by itself is reported as unavailable.

use windrow_model::machine::Forbidden;
use windrow_model::store::StoreError;

use crate::backend;

#[derive(Debug)]
pub(crate) enum Fault {
    Refused(StoreError),
    Database(backend::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Fault>;

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

impl From<backend::Error> for Fault {
    fn from(error: backend::Error) -> Self {
        Fault::Database(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Database(error.into())
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) => refusal,
            Fault::Database(error) if error.is_passing() => StoreError::Unavailable(error.to_string()),
            Fault::Database(error) => StoreError::Corrupt(error.to_string()),
        }
    }
}

/// A guarded update must find exactly the rows that were read in the same transaction.
pub(crate) fn expect_rows(changed: usize, expected: usize, what: &str) -> Result<()> {
    if changed == expected {
        return Ok(());
    }
    Err(StoreError::Corrupt(format!("{what}: {expected} row(s) should have changed, {changed} did")).into())
}
