//! A copy of the whole database as it is at one moment, made while others read and write. It is a read:
//! it blocks no writer.

use std::path::Path;

use windrow_model::store::{Result, StoreError};

use crate::backend::failure;
use crate::backend::sqlite::connection;

/// Writes the copy to `target`, which must not exist yet.
pub fn copy(source: &Path, target: &Path) -> Result<()> {
    let path = target.to_str().ok_or_else(|| StoreError::Unavailable("the path of the copy is not UTF-8".into()))?;
    let copied: failure::Result<()> = connection::open_reader(source).and_then(|conn| {
        // The copy holds what is there and none of the free space; the page size stays.
        conn.execute("VACUUM INTO ?1", [path])?;
        Ok(())
    });
    Ok(copied?)
}
