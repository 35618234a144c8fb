//! The error codes of MySQL and MariaDB that are known.

use mysql::{DriverError, Error};

/// A deadlock, a lock that was waited for in vain, a key that another transaction has just inserted.
const CONFLICTS: [u16; 3] = [1213, 1205, 1062];

/// A server that stops, has no place left, cuts a connection, or has become one that only reads.
const GONE: [u16; 18] =
    [1040, 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1290, 1836, 1927, 3169, 4031, 2013];

/// `KILL QUERY`, and the time limits of a statement in MariaDB and in MySQL.
const INTERRUPTED: [u16; 3] = [1317, 1969, 3024];

/// A user, a password or a right that the server does not know, or a database that is not there.
const REFUSED: [u16; 9] = [1044, 1045, 1049, 1130, 1142, 1227, 1698, 1862, 3118];

pub(crate) fn is_refused(error: &Error) -> bool {
    matches!(error, Error::MySqlError(told) if REFUSED.contains(&told.code))
}

pub(crate) fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::MySqlError(told) if CONFLICTS.contains(&told.code))
}

pub(crate) fn is_interrupted(error: &Error) -> bool {
    matches!(error, Error::MySqlError(told) if INTERRUPTED.contains(&told.code))
}

pub(crate) fn is_lost(error: &Error) -> bool {
    match error {
        Error::IoError(_) | Error::CodecError(_) | Error::TlsError(_) => true,
        Error::MySqlError(told) => GONE.contains(&told.code),
        Error::DriverError(
            DriverError::MismatchedStmtParams(..) | DriverError::Params(_) | DriverError::MixedParams,
        ) => false,
        Error::DriverError(_) => true,
        Error::UrlError(_) | Error::FromValueError(_) | Error::FromRowError(_) => false,
    }
}
